/* Where and how a tensor lives: Device, Layout, MemoryFormat, TensorOptions; and Scalar, a number of any type. */
#pragma once

#include "dtype.h"
#include "error.h"

namespace c10 {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, COMPILE_TIME_MAX_DEVICE_TYPES = 22 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;
#ifdef EVO_WITH_STRING
inline std::string DeviceTypeName(DeviceType type, bool lower_case = false) {
    if (type == kCUDA) return lower_case ? "cuda" : "CUDA";
    return lower_case ? "cpu" : "CPU";
}
#endif

class Device {
  public:
    using Type = DeviceType;
    Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
    Device(const char *name);
#ifdef EVO_WITH_STRING
    Device(const std::string &name) : Device(name.c_str()) {}
    std::string str() const {
        ::evo::Text text;
        text << *this;
        return text.c_str();
    }
#endif
    DeviceType type() const { return type_; }
    DeviceIndex index() const { return index_; }
    bool has_index() const { return index_ != -1; }
    bool is_cuda() const { return type_ == kCUDA; }
    bool is_cpu() const { return type_ == kCPU; }
    void set_index(DeviceIndex index) { index_ = index; }
    bool operator==(const Device &other) const { return type_ == other.type_ && index_ == other.index_; }
    bool operator!=(const Device &other) const { return !(*this == other); }

  private:
    DeviceType type_;
    DeviceIndex index_;
};

enum class Layout : int8_t { Strided = 0, Sparse = 1 };
constexpr Layout kStrided = Layout::Strided;
constexpr Layout kSparse = Layout::Sparse;

enum class MemoryFormat : int8_t { Contiguous = 0, Preserve = 1, ChannelsLast = 2, ChannelsLast3d = 3 };

class TensorOptions {
  public:
    TensorOptions() = default;
    TensorOptions(ScalarType type) : type_(type), has_type_(true) {}
    TensorOptions(caffe2::TypeMeta type) : TensorOptions(type.toScalarType()) {}
    TensorOptions(Device device) : device_(device), has_device_(true) {}
    TensorOptions(DeviceType type) : TensorOptions(Device(type)) {}
    TensorOptions(const char *device) : TensorOptions(Device(device)) {}
    TensorOptions(Layout) {}
    TensorOptions(MemoryFormat format) : format_(format), has_format_(true) {}

    TensorOptions dtype(ScalarType type) const {
        TensorOptions result = *this;
        result.type_ = type;
        result.has_type_ = true;
        return result;
    }
    TensorOptions dtype(caffe2::TypeMeta type) const { return dtype(type.toScalarType()); }
    template <typename T>
    TensorOptions dtype() const {
        return dtype(CPPTypeToScalarType<T>::value);
    }
    TensorOptions device(Device device) const {
        TensorOptions result = *this;
        result.device_ = device;
        result.has_device_ = true;
        return result;
    }
    TensorOptions device(DeviceType type, DeviceIndex index) const { return device(Device(type, index)); }
    TensorOptions device_index(DeviceIndex index) const { return device(Device(kCUDA, index)); }
    TensorOptions layout(Layout) const { return *this; }
    TensorOptions requires_grad(bool) const { return *this; }
    TensorOptions pinned_memory(bool pinned) const {
        TensorOptions result = *this;
        result.pinned_ = pinned;
        return result;
    }
    TensorOptions memory_format(MemoryFormat format) const {
        TensorOptions result = *this;
        result.format_ = format;
        result.has_format_ = true;
        return result;
    }
#ifdef EVO_WITH_OPTIONAL
    TensorOptions dtype(std::optional<ScalarType> type) const { return type ? dtype(*type) : *this; }
    /* A template, so that a DeviceType or a name goes to the overload above. */
    template <typename T, typename = std::enable_if_t<std::is_same<T, std::optional<Device>>::value>>
    TensorOptions device(const T &place) const {
        return place ? device(*place) : *this;
    }
    TensorOptions layout(std::optional<Layout>) const { return *this; }
    TensorOptions requires_grad(std::optional<bool>) const { return *this; }
    TensorOptions memory_format(std::optional<MemoryFormat> format) const {
        return format ? memory_format(*format) : *this;
    }
#endif
    TensorOptions merge_in(TensorOptions other) const {
        TensorOptions result = *this;
        if (other.has_type_) result = result.dtype(other.type_);
        if (other.has_device_) result = result.device(other.device_);
        if (other.has_format_) result = result.memory_format(other.format_);
        return result;
    }

    caffe2::TypeMeta dtype() const { return caffe2::TypeMeta(type_); }
    ScalarType scalar_type() const { return type_; }
    Device device() const { return device_; }
    DeviceIndex device_index() const { return device_.index(); }
    Layout layout() const { return kStrided; }
    bool requires_grad() const { return false; }
    bool pinned_memory() const { return pinned_; }
    MemoryFormat memory_format() const { return format_; }
    bool has_dtype() const { return has_type_; }
    bool has_device() const { return has_device_; }
    bool has_memory_format() const { return has_format_; }
    bool is_cuda() const { return device_.is_cuda(); }

  private:
    ScalarType type_ = kFloat;
    Device device_ = Device(kCPU);
    MemoryFormat format_ = MemoryFormat::Contiguous;
    bool has_type_ = false;
    bool has_device_ = false;
    bool has_format_ = false;
    bool pinned_ = false;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions dtype(caffe2::TypeMeta type) { return TensorOptions(type); }
template <typename T>
TensorOptions dtype() {
    return TensorOptions(CPPTypeToScalarType<T>::value);
}
inline TensorOptions device(Device place) { return TensorOptions(place); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions(Device(kCUDA, index)); }
inline TensorOptions layout(Layout which) { return TensorOptions(which); }
inline TensorOptions requires_grad(bool = true) { return TensorOptions(); }
inline TensorOptions memory_format(MemoryFormat format) { return TensorOptions(format); }

class Scalar {
  public:
    Scalar() : Scalar(static_cast<int64_t>(0)) {}
    template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
    Scalar(T value) {
        if constexpr (std::is_same<T, bool>::value) {
            type_ = kBool;
            integer_ = value;
        } else if constexpr (std::is_floating_point<T>::value) {
            type_ = kDouble;
            number_ = value;
        } else {
            type_ = kLong;
            integer_ = static_cast<int64_t>(value);
        }
    }
    template <typename T>
    T to() const {
        return type_ == kDouble ? static_cast<T>(number_) : static_cast<T>(integer_);
    }
    double toDouble() const { return to<double>(); }
    float toFloat() const { return to<float>(); }
    int64_t toLong() const { return to<int64_t>(); }
    int toInt() const { return to<int>(); }
    bool toBool() const { return to<bool>(); }
    ScalarType type() const { return type_; }
    bool isFloatingPoint() const { return type_ == kDouble; }
    bool isIntegral(bool with_bool = false) const { return type_ == kLong || (with_bool && type_ == kBool); }
    bool isBoolean() const { return type_ == kBool; }

  private:
    union {
        int64_t integer_;
        double number_;
    };
    ScalarType type_;
};

#ifdef EVO_WITH_OPTIONAL
using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
#endif

}  // namespace c10

namespace evo {
/* A memory format that may be left out; std::nullopt means the same as leaving it out. */
struct OptionalFormat {
    OptionalFormat() = default;
    OptionalFormat(c10::MemoryFormat format) : format(format), given(true) {}
#ifdef EVO_WITH_OPTIONAL
    OptionalFormat(std::nullopt_t) {}
    OptionalFormat(std::optional<c10::MemoryFormat> format) : OptionalFormat() {
        if (format) *this = OptionalFormat(*format);
    }
#endif
    c10::MemoryFormat format = c10::MemoryFormat::Contiguous;
    bool given = false;
};
/* torch::indexing::None */
struct NoneType {};
/* The bound of a slice, which may be left out, too. */
struct OptionalInt {
    OptionalInt() = default;
    OptionalInt(int64_t value) : value(value), given(true) {}
    OptionalInt(NoneType) {}
#ifdef EVO_WITH_OPTIONAL
    OptionalInt(std::nullopt_t) {}
    OptionalInt(std::optional<int64_t> value) : value(value.value_or(0)), given(value.has_value()) {}
#endif
    int64_t value = 0;
    bool given = false;
};
}  // namespace evo
