/* AT_DISPATCH_…: run a lambda with `scalar_t` standing for the element type of a tensor. */
#pragma once

#include "tensor.h"

namespace evo {
[[noreturn]] void fail_dispatch(const char *name, c10::ScalarType type);
}
namespace detail {
inline at::ScalarType scalar_type(at::ScalarType type) { return type; }
inline at::ScalarType scalar_type(const at::DeprecatedTypeProperties &type) { return type.scalarType(); }
}  // namespace detail

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                                        \
    [&] {                                                                                                          \
        const auto &the_type = TYPE;                                                                               \
        const char *at_dispatch_name = NAME;                                                                       \
        const at::ScalarType _st = ::detail::scalar_type(the_type);                                                \
        switch (_st) {                                                                                             \
            __VA_ARGS__                                                                                            \
            default:                                                                                               \
                ::evo::fail_dispatch(at_dispatch_name, _st);                                                       \
        }                                                                                                          \
    }()
#define AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, HINT, ...)                                                      \
    case enum_type: {                                                                                              \
        using HINT C10_UNUSED = c10::impl::ScalarTypeToCPPTypeT<enum_type>;                                        \
        return __VA_ARGS__();                                                                                      \
    }
#define AT_DISPATCH_CASE(enum_type, ...) AT_PRIVATE_CASE_TYPE_USING_HINT(enum_type, scalar_t, __VA_ARGS__)
#define AT_PRIVATE_CASE_TYPE(NAME, enum_type, type, ...) AT_DISPATCH_CASE(enum_type, __VA_ARGS__)

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                                                                       \
    AT_DISPATCH_CASE(at::ScalarType::Double, __VA_ARGS__)                                                          \
    AT_DISPATCH_CASE(at::ScalarType::Float, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(...)                                                              \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(at::ScalarType::Half, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)                                                               \
    AT_DISPATCH_CASE(at::ScalarType::Half, __VA_ARGS__) AT_DISPATCH_CASE(at::ScalarType::BFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                                                                       \
    AT_DISPATCH_CASE(at::ScalarType::Byte, __VA_ARGS__)                                                            \
    AT_DISPATCH_CASE(at::ScalarType::Char, __VA_ARGS__)                                                            \
    AT_DISPATCH_CASE(at::ScalarType::Int, __VA_ARGS__)                                                             \
    AT_DISPATCH_CASE(at::ScalarType::Long, __VA_ARGS__)                                                            \
    AT_DISPATCH_CASE(at::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)                                                                            \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_COMPLEX_TYPES(...)                                                                        \
    AT_DISPATCH_CASE(at::ScalarType::ComplexDouble, __VA_ARGS__)                                                   \
    AT_DISPATCH_CASE(at::ScalarType::ComplexFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(...)                                                           \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(...)                                                                \
    AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__)
#define EVO_CASE_1(A, ...) AT_DISPATCH_CASE(A, __VA_ARGS__)
#define EVO_CASE_2(A, B, ...) EVO_CASE_1(A, __VA_ARGS__) EVO_CASE_1(B, __VA_ARGS__)
#define EVO_CASE_3(A, B, C, ...) EVO_CASE_2(A, B, __VA_ARGS__) EVO_CASE_1(C, __VA_ARGS__)
#define EVO_CASE_4(A, B, C, D, ...) EVO_CASE_3(A, B, C, __VA_ARGS__) EVO_CASE_1(D, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(A, ...) AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(A, B, ...)                                                            \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) EVO_CASE_2(A, B, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND(A, ...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(A, B, ...) AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) EVO_CASE_2(A, B, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(A, ...)                                                                \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...)                                                                \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...)                                                       \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(__VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...)                                                        \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(A, TYPE, NAME, ...)                                                         \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, TYPE, NAME, ...)                                                     \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) EVO_CASE_2(A, B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                                  \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) EVO_CASE_3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND4(A, B, C, D, TYPE, NAME, ...)                                               \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) EVO_CASE_4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...)                                                                \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(A, TYPE, NAME, ...)                                                         \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, TYPE, NAME, ...)                                                              \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...)                                                            \
    AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, TYPE, NAME, ...)                                                          \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) EVO_CASE_2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, TYPE, NAME, ...)                                                       \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) EVO_CASE_3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...)                                                                 \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...)                                                    \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(A, TYPE, NAME, ...)                                            \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                                                 \
                       AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(A, B, TYPE, NAME, ...)                                         \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                                                 \
                       AT_DISPATCH_CASE_FLOATING_AND_COMPLEX_TYPES(__VA_ARGS__) EVO_CASE_2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(TYPE, NAME, ...)                                                         \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(A, TYPE, NAME, ...)                                                  \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) EVO_CASE_1(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(A, B, TYPE, NAME, ...)                                              \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) EVO_CASE_2(A, B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(A, B, C, TYPE, NAME, ...)                                           \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) EVO_CASE_3(A, B, C, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(A, B, C, D, TYPE, NAME, ...)                                        \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                                                 \
                       AT_DISPATCH_CASE_ALL_TYPES_AND_COMPLEX(__VA_ARGS__) EVO_CASE_4(A, B, C, D, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(TYPE, NAME, ...)                                                                   \
    AT_DISPATCH_SWITCH(TYPE, NAME,                                                                                 \
                       AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Int, index_t, __VA_ARGS__)                  \
                           AT_PRIVATE_CASE_TYPE_USING_HINT(at::ScalarType::Long, index_t, __VA_ARGS__))

/* Version 2: AT_DISPATCH_V2(type, name, AT_WRAP(lambda), AT_EXPAND(AT_FLOATING_TYPES), more types…). */
#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(X) X
#define AT_FLOATING_TYPES at::kDouble, at::kFloat
#define AT_INTEGRAL_TYPES at::kByte, at::kChar, at::kInt, at::kLong, at::kShort
#define AT_INTEGRAL_TYPES_V2 AT_INTEGRAL_TYPES, at::kUInt16, at::kUInt32, at::kUInt64
#define AT_COMPLEX_TYPES at::kComplexDouble, at::kComplexFloat
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
#define AT_REDUCED_FLOATING_TYPES at::kHalf, at::kBFloat16
#define EVO_COUNT(...) EVO_COUNT_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define EVO_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
#define EVO_V2_1(F, A) AT_DISPATCH_CASE(A, F)
#define EVO_V2_2(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_1(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_3(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_2(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_4(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_3(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_5(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_4(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_6(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_5(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_7(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_6(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_8(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_7(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_9(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_8(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_10(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_9(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_11(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_10(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_12(F, A, ...) AT_DISPATCH_CASE(A, F) EVO_V2_11(AT_WRAP(F), __VA_ARGS__)
#define EVO_V2_(count, F, ...) C10_CONCATENATE(EVO_V2_, count)(AT_WRAP(F), __VA_ARGS__)
#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...)                                                                      \
    AT_DISPATCH_SWITCH(TYPE, NAME, EVO_V2_(EVO_COUNT(__VA_ARGS__), AT_WRAP(BODY), __VA_ARGS__))
