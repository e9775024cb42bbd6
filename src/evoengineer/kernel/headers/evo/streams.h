/* Printing to a std::ostream, for texts that use one. */
#pragma once

#include <ostream>

#include "half.h"
#include "tensor.h"

namespace c10 {
#define EVO_PRINT(type)                                                                                            \
    inline std::ostream &operator<<(std::ostream &stream, type value) {                                           \
        ::evo::Text text;                                                                                          \
        text << value;                                                                                             \
        return stream << text.c_str();                                                                             \
    }
EVO_PRINT(ScalarType)
EVO_PRINT(DeviceType)
EVO_PRINT(const Device &)
EVO_PRINT(Layout)
EVO_PRINT(MemoryFormat)
template <typename T>
EVO_PRINT(ArrayRef<T>)
inline std::ostream &operator<<(std::ostream &stream, const TensorOptions &options) {
    stream << "TensorOptions(dtype=" << options.dtype() << (options.has_dtype() ? "" : " (default)");
    stream << ", device=" << options.device() << (options.has_device() ? "" : " (default)");
    stream << ", layout=" << options.layout() << ", requires_grad=" << (options.requires_grad() ? "true" : "false");
    stream << ", pinned_memory=" << (options.pinned_memory() ? "true" : "false");
    if (options.has_memory_format()) stream << ", memory_format=" << options.memory_format();
    return stream << ")";
}
inline std::ostream &operator<<(std::ostream &stream, const Scalar &value) {
    if (value.isBoolean()) return stream << (value.toBool() ? "true" : "false");
    return value.isFloatingPoint() ? stream << value.toDouble() : stream << value.toLong();
}
inline std::ostream &operator<<(std::ostream &stream, Half value) { return stream << static_cast<float>(value); }
inline std::ostream &operator<<(std::ostream &stream, BFloat16 value) { return stream << static_cast<float>(value); }
}  // namespace c10
namespace caffe2 {
EVO_PRINT(TypeMeta)
}
namespace at {
EVO_PRINT(const Tensor &)
}
#undef EVO_PRINT
