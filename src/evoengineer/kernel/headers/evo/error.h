/* Checks and failures: TORCH_CHECK and its relatives throw c10::Error, which the module turns into an EvoError.

   No line numbers are kept: they would be part of the machine code, and a comment more would make another build. */
#pragma once

#include <exception>

#include "abi.h"
#include "array.h"
#include "config.h"
#include "dtype.h"

namespace c10 {
class Device;
enum class DeviceType : int8_t;
enum class Layout : int8_t;
enum class MemoryFormat : int8_t;
}  // namespace c10
namespace at {
class Tensor;
}

namespace evo {

/* Text of limited length, built without streams. */
class Text {
  public:
    Text() { text_[0] = 0; }
    const char *c_str() const { return text_; }
    size_t size() const { return size_; }

    Text &operator<<(const char *text);
    Text &operator<<(char letter);
    Text &operator<<(bool value);
    Text &operator<<(long long value);
    Text &operator<<(unsigned long long value);
    Text &operator<<(double value);
    Text &operator<<(int value) { return *this << static_cast<long long>(value); }
    Text &operator<<(long value) { return *this << static_cast<long long>(value); }
    Text &operator<<(short value) { return *this << static_cast<long long>(value); }
    Text &operator<<(unsigned value) { return *this << static_cast<unsigned long long>(value); }
    Text &operator<<(unsigned long value) { return *this << static_cast<unsigned long long>(value); }
    Text &operator<<(float value) { return *this << static_cast<double>(value); }
    Text &operator<<(const void *pointer);
    Text &operator<<(c10::ScalarType type) { return *this << c10::toString(type); }
    Text &operator<<(caffe2::TypeMeta type) { return *this << type.name(); }
    Text &operator<<(c10::Device device);
    Text &operator<<(c10::DeviceType type);
    Text &operator<<(c10::Layout layout);
    Text &operator<<(c10::MemoryFormat format);
    Text &operator<<(const at::Tensor &tensor);
    Text &operator<<(cudaError_t status) { return *this << cudaGetErrorString(status); }
    template <typename T>
    Text &operator<<(c10::ArrayRef<T> values) {
        *this << "[";
        for (size_t i = 0; i < values.size(); ++i) *this << (i ? ", " : "") << values[i];
        return *this << "]";
    }
    /* std::string and whatever else has a c_str(). */
    template <typename S>
    auto operator<<(const S &text) -> decltype(static_cast<const char *>(text.c_str()), *this) {
        return *this << text.c_str();
    }
#ifdef EVO_WITH_VECTOR
    template <typename T>
    Text &operator<<(const std::vector<T> &values) {
        return *this << c10::ArrayRef<T>(values);
    }
#endif
#ifdef EVO_WITH_OPTIONAL
    template <typename T>
    Text &operator<<(const std::optional<T> &value) {
        return value ? *this << *value : *this << "None";
    }
#endif

  private:
    char text_[2048];
    size_t size_ = 0;
};

[[noreturn]] void fail(EvoErrorKind kind, int code, const char *message);
void warn(const char *message);
[[noreturn]] void fail_cuda(cudaError_t status, const char *expression);
void check_launch();

template <typename... Parts>
[[noreturn]] __attribute__((cold, noinline)) void fail_check(const char *condition, const Parts &...parts) {
    Text text;
    if constexpr (sizeof...(Parts) == 0)
        text << "Expected " << condition << " to be true, but got false.";
    else
        (void)(text << ... << parts);
    fail(EVO_ERROR_CHECK, 0, text.c_str());
}

template <typename... Parts>
void warn_with(const Parts &...parts) {
    Text text;
    (void)(text << ... << parts);
    warn(text.c_str());
}

}  // namespace evo

namespace c10 {

struct SourceLocation {
    const char *function;
    const char *file;
    uint32_t line;
};

class Error : public std::exception {
  public:
    Error(EvoErrorKind kind, int code, const char *message);
#ifdef EVO_WITH_STRING
    Error(SourceLocation, const std::string &message) : Error(EVO_ERROR_CHECK, 0, message.c_str()) {}
#endif
    const char *what() const noexcept override { return error_.message; }
    const char *what_without_backtrace() const noexcept { return error_.message; }
    const char *msg() const noexcept { return error_.message; }
    const EvoError &evo_error() const noexcept { return error_; }

  private:
    EvoError error_;
};
#define EVO_ERROR(name)                                                                                            \
    struct name : Error {                                                                                          \
        using Error::Error;                                                                                        \
    };
EVO_ERROR(IndexError)
EVO_ERROR(ValueError)
EVO_ERROR(TypeError)
EVO_ERROR(NotImplementedError)
#undef EVO_ERROR

#ifdef EVO_WITH_STRING
template <typename... Parts>
std::string str(const Parts &...parts) {
    ::evo::Text text;
    (void)(text << ... << parts);
    return text.c_str();
}
#endif

}  // namespace c10

#define TORCH_CHECK(condition, ...)                                                                                \
    if (C10_UNLIKELY(!(condition))) {                                                                              \
        ::evo::fail_check(#condition, ##__VA_ARGS__);                                          \
    }
#define TORCH_CHECK_WITH(error, condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_WITH_MSG(error, condition, type, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_ARG(condition, argument, ...)                                                                  \
    TORCH_CHECK(condition, "invalid argument ", argument, ": ", ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...)                                                                      \
    while (false) C10_EXPAND_MSVC_WORKAROUND(TORCH_INTERNAL_ASSERT(__VA_ARGS__))
#define C10_EXPAND_MSVC_WORKAROUND(x) x
#define EVO_CHECK_OP(a, b, op, ...)                                                                                \
    TORCH_CHECK((a)op(b), "Check failed: " #a " " #op " " #b " (", (a), " vs. ", (b), "). ", ##__VA_ARGS__)
#define TORCH_CHECK_EQ(a, b, ...) EVO_CHECK_OP(a, b, ==, ##__VA_ARGS__)
#define TORCH_CHECK_NE(a, b, ...) EVO_CHECK_OP(a, b, !=, ##__VA_ARGS__)
#define TORCH_CHECK_LE(a, b, ...) EVO_CHECK_OP(a, b, <=, ##__VA_ARGS__)
#define TORCH_CHECK_LT(a, b, ...) EVO_CHECK_OP(a, b, <, ##__VA_ARGS__)
#define TORCH_CHECK_GE(a, b, ...) EVO_CHECK_OP(a, b, >=, ##__VA_ARGS__)
#define TORCH_CHECK_GT(a, b, ...) EVO_CHECK_OP(a, b, >, ##__VA_ARGS__)
#define TORCH_CHECK_NOTNULL(pointer) (pointer)
#define AT_ASSERT(...) TORCH_INTERNAL_ASSERT(__VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_CHECK(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define AT_ERROR(...)                                                                                              \
    do {                                                                                                           \
        ::evo::fail_check("", __VA_ARGS__);                                                    \
    } while (false)
#define C10_THROW_ERROR(type, message) ::evo::fail_check("", message)
#define TORCH_WARN(...) ::evo::warn_with(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                                                                       \
    do {                                                                                                           \
        static const bool evo_warned = (::evo::warn_with(__VA_ARGS__), true);                                      \
        (void)evo_warned;                                                                                          \
    } while (false)
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
#define TORCH_WARN_DEPRECATION(...) TORCH_WARN(__VA_ARGS__)

#define C10_CUDA_CHECK(expression)                                                                                 \
    do {                                                                                                           \
        const cudaError_t evo_status = (expression);                                                               \
        if (C10_UNLIKELY(evo_status != cudaSuccess))                                                               \
            ::evo::fail_cuda(evo_status, #expression);                                         \
    } while (0)
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define C10_CUDA_CHECK_WARN(expression) C10_CUDA_CHECK(expression)
#define C10_CUDA_IGNORE_ERROR(expression) ((void)(expression))
#define C10_CUDA_CLEAR_ERROR() ((void)cudaGetLastError())
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ::evo::check_launch()
#define CUDA_KERNEL_ASSERT(condition)                                                                              \
    if (!(condition)) {                                                                                            \
        __trap();                                                                                                  \
    }
#define CUDA_KERNEL_ASSERT_MSG(condition, message) CUDA_KERNEL_ASSERT((condition) && (message))
#define CUDA_KERNEL_ASSERT2(condition) CUDA_KERNEL_ASSERT(condition)
