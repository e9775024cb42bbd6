/* Element types: c10::ScalarType, its C++ types, and caffe2::TypeMeta (what Tensor::dtype() returns). */
#pragma once

#include "abi.h"
#include "config.h"

namespace c10 {

struct Half;
struct BFloat16;
struct Float8_e5m2;
struct Float8_e4m3fn;
template <typename T>
struct complex;

enum class ScalarType : int8_t {
    Byte = 0,
    Char = 1,
    Short = 2,
    Int = 3,
    Long = 4,
    Half = 5,
    Float = 6,
    Double = 7,
    ComplexHalf = 8,
    ComplexFloat = 9,
    ComplexDouble = 10,
    Bool = 11,
    QInt8 = 12,
    QUInt8 = 13,
    QInt32 = 14,
    BFloat16 = 15,
    Float8_e5m2 = 23,
    Float8_e4m3fn = 24,
    UInt16 = 27,
    UInt32 = 28,
    UInt64 = 29,
    Undefined = 46,
    NumOptions = 47
};

#define EVO_SCALAR_TYPES(_)                                                                                        \
    _(uint8_t, Byte)                                                                                               \
    _(int8_t, Char)                                                                                                \
    _(int16_t, Short)                                                                                              \
    _(int, Int)                                                                                                    \
    _(int64_t, Long)                                                                                               \
    _(c10::Half, Half)                                                                                             \
    _(float, Float)                                                                                                \
    _(double, Double)                                                                                              \
    _(c10::complex<float>, ComplexFloat)                                                                           \
    _(c10::complex<double>, ComplexDouble)                                                                         \
    _(bool, Bool)                                                                                                  \
    _(c10::BFloat16, BFloat16)                                                                                     \
    _(c10::Float8_e5m2, Float8_e5m2)                                                                               \
    _(c10::Float8_e4m3fn, Float8_e4m3fn)                                                                           \
    _(uint16_t, UInt16)                                                                                            \
    _(uint32_t, UInt32)                                                                                            \
    _(uint64_t, UInt64)

#define EVO_CONSTANT(type, name) constexpr ScalarType k##name = ScalarType::name;
EVO_SCALAR_TYPES(EVO_CONSTANT)
#undef EVO_CONSTANT

namespace impl {
template <ScalarType type>
struct ScalarTypeToCPPType;
template <ScalarType type>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<type>::type;
}  // namespace impl
using impl::ScalarTypeToCPPType;
using impl::ScalarTypeToCPPTypeT;

template <typename T>
struct CPPTypeToScalarType {
    static_assert(sizeof(T) == 0,
                  "PyTorch has no tensors of this element type. For __half and __nv_bfloat16 take data_ptr<at::Half>() "
                  "and data_ptr<at::BFloat16>() and cast the pointer; for long long use int64_t.");
    static constexpr ScalarType value = ScalarType::Undefined;
};

#define EVO_MAP(cpp, name)                                                                                         \
    template <>                                                                                                    \
    struct impl::ScalarTypeToCPPType<ScalarType::name> {                                                           \
        using type = cpp;                                                                                          \
    };                                                                                                             \
    template <>                                                                                                    \
    struct CPPTypeToScalarType<cpp> {                                                                              \
        static constexpr ScalarType value = ScalarType::name;                                                      \
    };
EVO_SCALAR_TYPES(EVO_MAP)
#undef EVO_MAP
/* The name of PyTorch's: an object of it is the type. */
template <typename T>
struct CppTypeToScalarType : std::integral_constant<ScalarType, CPPTypeToScalarType<T>::value> {};

const char *toString(ScalarType type);
size_t elementSize(ScalarType type);
constexpr bool isFloatingType(ScalarType type) {
    return type == kDouble || type == kFloat || type == kHalf || type == kBFloat16 || type == kFloat8_e5m2 ||
           type == kFloat8_e4m3fn;
}
constexpr bool isReducedFloatingType(ScalarType type) {
    return type == kHalf || type == kBFloat16 || type == kFloat8_e5m2 || type == kFloat8_e4m3fn;
}
constexpr bool isComplexType(ScalarType type) { return type == kComplexFloat || type == kComplexDouble; }
constexpr bool isIntegralType(ScalarType type, bool with_bool = false) {
    return type == kByte || type == kChar || type == kShort || type == kInt || type == kLong || type == kUInt16 ||
           type == kUInt32 || type == kUInt64 || (with_bool && type == kBool);
}

}  // namespace c10

namespace caffe2 {
class TypeMeta {
  public:
    constexpr TypeMeta() = default;
    constexpr explicit TypeMeta(c10::ScalarType type) : type_(type) {}
    template <typename T>
    static constexpr TypeMeta Make() {
        return TypeMeta(c10::CPPTypeToScalarType<T>::value);
    }
    static constexpr TypeMeta fromScalarType(c10::ScalarType type) { return TypeMeta(type); }
    constexpr c10::ScalarType toScalarType() const { return type_; }
    size_t itemsize() const { return c10::elementSize(type_); }
    const char *name() const { return c10::toString(type_); }
    template <typename T>
    constexpr bool Match() const {
        return type_ == c10::CPPTypeToScalarType<T>::value;
    }
    constexpr bool isScalarType(c10::ScalarType type) const { return type_ == type; }

  private:
    c10::ScalarType type_ = c10::ScalarType::Undefined;
};
constexpr bool operator==(TypeMeta a, TypeMeta b) { return a.toScalarType() == b.toScalarType(); }
constexpr bool operator!=(TypeMeta a, TypeMeta b) { return !(a == b); }
constexpr bool operator==(TypeMeta a, c10::ScalarType b) { return a.toScalarType() == b; }
constexpr bool operator==(c10::ScalarType a, TypeMeta b) { return b == a; }
constexpr bool operator!=(TypeMeta a, c10::ScalarType b) { return !(a == b); }
constexpr bool operator!=(c10::ScalarType a, TypeMeta b) { return !(b == a); }
}  // namespace caffe2

namespace c10 {
using caffe2::TypeMeta;
constexpr ScalarType typeMetaToScalarType(caffe2::TypeMeta type) { return type.toScalarType(); }
constexpr caffe2::TypeMeta scalarTypeToTypeMeta(ScalarType type) { return caffe2::TypeMeta(type); }
template <typename T>
constexpr caffe2::TypeMeta CPPTypeToTypeMeta() {
    return caffe2::TypeMeta::Make<T>();
}
}  // namespace c10

namespace torch {
using Dtype = at::ScalarType;
constexpr ScalarType kUInt8 = at::kByte;
constexpr ScalarType kU8 = at::kByte;
constexpr ScalarType kInt8 = at::kChar;
constexpr ScalarType kI8 = at::kChar;
constexpr ScalarType kInt16 = at::kShort;
constexpr ScalarType kI16 = at::kShort;
constexpr ScalarType kInt32 = at::kInt;
constexpr ScalarType kI32 = at::kInt;
constexpr ScalarType kInt64 = at::kLong;
constexpr ScalarType kI64 = at::kLong;
constexpr ScalarType kFloat16 = at::kHalf;
constexpr ScalarType kF16 = at::kHalf;
constexpr ScalarType kFloat32 = at::kFloat;
constexpr ScalarType kF32 = at::kFloat;
constexpr ScalarType kFloat64 = at::kDouble;
constexpr ScalarType kF64 = at::kDouble;
constexpr ScalarType kComplex64 = at::kComplexFloat;
constexpr ScalarType kComplex128 = at::kComplexDouble;
}  // namespace torch
