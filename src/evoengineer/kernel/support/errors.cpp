/* Texts, failures, and the names and sizes of element types. */
#include <stdio.h>
#include <string.h>

#include "support.h"

namespace evo {

Text &Text::operator<<(const char *text) {
    if (!text) text = "(null)";
    const size_t room = sizeof text_ - 1 - size_;
    size_t length = strlen(text);
    if (length > room) length = room;
    memcpy(text_ + size_, text, length);
    size_ += length;
    text_[size_] = 0;
    return *this;
}
Text &Text::operator<<(char letter) {
    const char text[2] = {letter, 0};
    return *this << text;
}
Text &Text::operator<<(bool value) { return *this << (value ? "1" : "0"); }
Text &Text::operator<<(long long value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    return *this << text;
}
Text &Text::operator<<(unsigned long long value) {
    char text[32];
    snprintf(text, sizeof text, "%llu", value);
    return *this << text;
}
Text &Text::operator<<(double value) {
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    return *this << text;
}
Text &Text::operator<<(const void *pointer) {
    char text[32];
    snprintf(text, sizeof text, "%p", pointer);
    return *this << text;
}
Text &Text::operator<<(c10::DeviceType type) { return *this << (type == c10::kCUDA ? "cuda" : "cpu"); }
Text &Text::operator<<(c10::Device device) {
    *this << device.type();
    return device.has_index() ? *this << ":" << static_cast<int>(device.index()) : *this;
}
Text &Text::operator<<(c10::Layout layout) { return *this << (layout == c10::kStrided ? "Strided" : "Sparse"); }
Text &Text::operator<<(c10::MemoryFormat format) {
    static const char *const names[] = {"Contiguous", "Preserve", "ChannelsLast", "ChannelsLast3d"};
    return *this << names[static_cast<int>(format)];
}
Text &Text::operator<<(const at::Tensor &tensor) {
    if (!tensor.defined()) return *this << "[ Tensor (undefined) ]";
    return *this << "[ " << tensor.device() << " " << tensor.scalar_type() << " tensor of size " << tensor.sizes() << " ]";
}

void fail(EvoErrorKind kind, int code, const char *message) {
    throw c10::Error(kind, code, message);
}

void fail_cuda(cudaError_t status, const char *expression) {
    (void)cudaGetLastError();
    Text text;
    text << "CUDA error: " << cudaGetErrorString(status) << " (" << cudaGetErrorName(status) << ")";
    if (expression) text << " in " << expression;
    fail(EVO_ERROR_CUDA, status, text.c_str());
}

void check_launch() {
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) fail_cuda(status, "a kernel launch");
}

void warn(const char *message) { host().warn(host().context, message); }

void fail_index(int64_t index, size_t size) { refuse("ArrayRef: invalid index ", index, "; length ", size); }
void fail_dtype(c10::ScalarType expected, const at::Tensor &tensor) {
    refuse("expected scalar type ", expected, " but found ", tensor.scalar_type());
}
void fail_dispatch(const char *name, c10::ScalarType type) {
    refuse("\"", name, "\" not implemented for '", type, "'");
}

}  // namespace evo

namespace c10 {

Error::Error(EvoErrorKind kind, int code, const char *message) {
    memset(&error_, 0, sizeof error_);
    error_.kind = kind;
    error_.code = code;
    snprintf(error_.message, sizeof error_.message, "%s", message);
}

const char *toString(ScalarType type) {
    switch (type) {
#define EVO_NAME(cpp, name)                                                                                        \
    case ScalarType::name:                                                                                         \
        return #name;
        EVO_SCALAR_TYPES(EVO_NAME)
#undef EVO_NAME
        default:
            return "UNKNOWN_SCALAR";
    }
}

size_t elementSize(ScalarType type) {
    switch (type) {
        case kComplexFloat: return 8;
        case kComplexDouble: return 16;
        case kDouble: case kLong: case kUInt64: return 8;
        case kFloat: case kInt: case kUInt32: return 4;
        case kHalf: case kBFloat16: case kShort: case kUInt16: return 2;
        case kByte: case kChar: case kBool: case kFloat8_e4m3fn: case kFloat8_e5m2: return 1;
        default: ::evo::refuse("no element size is known for ", toString(type));
    }
}

}  // namespace c10
