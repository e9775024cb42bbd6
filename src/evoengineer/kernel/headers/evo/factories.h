/* Functions that make tensors: empty, zeros, full, tensor, from_blob … */
#pragma once

#include "tensor.h"

namespace at {

Tensor empty(IntArrayRef size, const TensorOptions &options = {}, ::evo::OptionalFormat format = {});
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions &options = {});
Tensor zeros(IntArrayRef size, const TensorOptions &options = {});
Tensor ones(IntArrayRef size, const TensorOptions &options = {});
/* A bool or an integer gives its own element type when the options name none. */
Tensor full(IntArrayRef size, const Scalar &value, const TensorOptions &options = {});
Tensor scalar_tensor(const Scalar &value, const TensorOptions &options = {});
Tensor empty_like(const Tensor &other, const TensorOptions &changes = {}, ::evo::OptionalFormat format = {});
Tensor zeros_like(const Tensor &other, const TensorOptions &changes = {}, ::evo::OptionalFormat format = {});
Tensor ones_like(const Tensor &other, const TensorOptions &changes = {}, ::evo::OptionalFormat format = {});
Tensor full_like(const Tensor &other, const Scalar &value, const TensorOptions &changes = {},
                 ::evo::OptionalFormat format = {});
Tensor arange(const Scalar &end, const TensorOptions &options = {});
Tensor arange(const Scalar &start, const Scalar &end, const TensorOptions &options = {});
Tensor arange(const Scalar &start, const Scalar &end, const Scalar &step, const TensorOptions &options = {});
Tensor from_blob(void *data, IntArrayRef size, const TensorOptions &options = {});
Tensor from_blob(void *data, IntArrayRef size, IntArrayRef stride, const TensorOptions &options = {});
Tensor tensor_of(const void *elements, size_t count, bool is_scalar, ScalarType type, const TensorOptions &options);

template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
Tensor tensor(std::initializer_list<T> values, const TensorOptions &options = {}) {
    return tensor_of(values.begin(), values.size(), false, c10::CPPTypeToScalarType<T>::value, options);
}
template <typename T>
Tensor tensor(c10::ArrayRef<T> values, const TensorOptions &options = {}) {
    return tensor_of(values.data(), values.size(), false, c10::CPPTypeToScalarType<T>::value, options);
}
template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
Tensor tensor(T value, const TensorOptions &options = {}) {
    return tensor_of(&value, 1, true, c10::CPPTypeToScalarType<T>::value, options);
}
#ifdef EVO_WITH_VECTOR
template <typename T>
Tensor tensor(const std::vector<T> &values, const TensorOptions &options = {}) {
    return tensor(c10::ArrayRef<T>(values), options);
}
#endif

/* Sizes that real ones might keep symbolic. */
inline Tensor empty_symint(SymIntArrayRef size, const TensorOptions &options = {}) { return empty(size, options); }
inline Tensor zeros_symint(SymIntArrayRef size, const TensorOptions &options = {}) { return zeros(size, options); }

}  // namespace at

namespace c10 {
/* Negative dimensions count from the end. */
inline int64_t maybe_wrap_dim(int64_t dimension, int64_t count) {
    TORCH_CHECK_INDEX(dimension >= -count && dimension < (count ? count : 1), "Dimension out of range: ", dimension, " of ", count);
    return dimension < 0 ? dimension + count : dimension;
}
}  // namespace c10

namespace at {
/* Views and copies that exist as functions, too. */
inline Tensor reshape(const Tensor &tensor, IntArrayRef shape) { return tensor.reshape(shape); }
inline Tensor flatten(const Tensor &tensor, int64_t start = 0, int64_t end = -1) { return tensor.flatten(start, end); }
inline Tensor squeeze(const Tensor &tensor) { return tensor.squeeze(); }
inline Tensor squeeze(const Tensor &tensor, int64_t dimension) { return tensor.squeeze(dimension); }
inline Tensor unsqueeze(const Tensor &tensor, int64_t dimension) { return tensor.unsqueeze(dimension); }
inline Tensor transpose(const Tensor &tensor, int64_t first, int64_t second) { return tensor.transpose(first, second); }
inline Tensor t(const Tensor &tensor) { return tensor.t(); }
inline Tensor permute(const Tensor &tensor, IntArrayRef order) { return tensor.permute(order); }
inline Tensor narrow(const Tensor &tensor, int64_t dimension, int64_t start, int64_t length) {
    return tensor.narrow(dimension, start, length);
}
inline Tensor select(const Tensor &tensor, int64_t dimension, int64_t index) { return tensor.select(dimension, index); }
inline Tensor clone(const Tensor &tensor) { return tensor.clone(); }
inline bool is_floating_point(const Tensor &tensor) { return tensor.is_floating_point(); }
inline int64_t numel(const Tensor &tensor) { return tensor.numel(); }
#ifdef EVO_WITH_VECTOR
inline std::vector<Tensor> unbind(const Tensor &tensor, int64_t dimension = 0) { return tensor.unbind(dimension); }
inline std::vector<Tensor> split(const Tensor &tensor, int64_t length, int64_t dimension = 0) {
    return tensor.split(length, dimension);
}
inline std::vector<Tensor> chunk(const Tensor &tensor, int64_t count, int64_t dimension = 0) {
    return tensor.chunk(count, dimension);
}
#endif

/* One piece after the other: the sandbox grants one processor. */
template <typename F>
void parallel_for(int64_t begin, int64_t end, int64_t, const F &function) {
    if (begin < end) function(begin, end);
}

struct NoGradGuard {
    NoGradGuard() {}
    ~NoGradGuard() {}
};
struct AutoDispatchBelowADInplaceOrView {
    AutoDispatchBelowADInplaceOrView() {}
    ~AutoDispatchBelowADInplaceOrView() {}
};
using AutoNonVariableTypeMode = AutoDispatchBelowADInplaceOrView;
using AutoDispatchBelowAutograd = AutoDispatchBelowADInplaceOrView;

template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
C10_HOST_DEVICE constexpr T ceil_div(T a, T b) {
    return (a + b - 1) / b;
}

template <typename T>
struct OpMathType {
    using type = T;
};
template <>
struct OpMathType<c10::Half> {
    using type = float;
};
template <>
struct OpMathType<c10::BFloat16> {
    using type = float;
};
template <>
struct OpMathType<c10::Float8_e5m2> {
    using type = float;
};
template <>
struct OpMathType<c10::Float8_e4m3fn> {
    using type = float;
};
template <typename T>
using opmath_type = typename OpMathType<T>::type;

/* The type to sum in: on a GPU floats stay floats, on a CPU they become doubles. */
template <typename T, bool on_gpu>
struct AccumulateType {
    using type = std::conditional_t<std::is_same<T, bool>::value, bool,
                                    std::conditional_t<std::is_integral<T>::value, int64_t, opmath_type<T>>>;
};
template <>
struct AccumulateType<float, false> {
    using type = double;
};
template <typename T, bool on_gpu>
using acc_type = typename AccumulateType<T, on_gpu>::type;
template <typename T, bool on_gpu>
using acc_type_device = acc_type<T, on_gpu>;

}  // namespace at
