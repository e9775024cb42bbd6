/* Elements with a given value: fill_, zero_ of a part, ones, full, arange. */
#include <math.h>
#include <string.h>

#include "elements.h"
#include "support.h"

namespace at {

using namespace ::evo;

namespace {

Number number_of_scalar(const Scalar &value) {
    return value.isFloatingPoint() ? number_of(value.toDouble()) : integer_of(value.toLong());
}

void fill_on_host(const EvoTensor &tensor, const Number &value) {
    const int64_t count = element_count(tensor);
    for (int64_t i = 0; i < count; ++i) {
        int64_t place = 0;
        for (int64_t d = tensor.dimensions - 1, index = i; d >= 0; --d) {
            place += index % tensor.sizes[d] * tensor.strides[d];
            index /= tensor.sizes[d];
        }
        store_element(tensor.data, place, tensor.dtype, value);
    }
}

/* Without a type of its own, a tensor of integers is int64 and one of truths bool. */
TensorOptions typed(const TensorOptions &options, const Scalar &value) {
    return options.has_dtype() || value.isFloatingPoint() ? options : options.dtype(value.type());
}

}  // namespace

const Tensor &Tensor::fill_(const Scalar &value) const {
    const EvoTensor &tensor = get();
    if (!convertible(tensor.dtype)) fail(EVO_ERROR_UNSUPPORTED, 0, "filling complex and 8-bit floating point tensors is not supported");
    const Number number = number_of_scalar(value);
    if (tensor.device_type == EVO_CPU) {
        fill_on_host(tensor, number);
        return *this;
    }
    unsigned char element[8] = {};
    store_element(element, 0, tensor.dtype, number);
    bool uniform = is_non_overlapping_and_dense();
    for (size_t i = 1; i < element_size(); ++i) uniform = uniform && element[i] == element[0];
    if (uniform && numel() > 0) {
        C10_CUDA_CHECK(cudaMemsetAsync(tensor.data, element[0], nbytes(), current_stream()));
    } else if (numel() > 0) {
        uint64_t pattern = 0;
        memcpy(&pattern, element, element_size());
        device_fill(tensor, pattern, current_stream());
    }
    return *this;
}

const Tensor &Tensor::zero_() const {
    if (!is_non_overlapping_and_dense()) return fill_(0);
    zero_bytes(get(), nbytes());
    return *this;
}

Tensor full(IntArrayRef size, const Scalar &value, const TensorOptions &options) {
    Tensor result = empty(size, typed(options, value));
    result.fill_(value);
    return result;
}
Tensor ones(IntArrayRef size, const TensorOptions &options) { return full(size, 1, options.dtype(options.scalar_type())); }
Tensor scalar_tensor(const Scalar &value, const TensorOptions &options) { return full(IntArrayRef(), value, options.dtype(options.scalar_type())); }
Tensor full_like(const Tensor &other, const Scalar &value, const TensorOptions &changes, OptionalFormat format) {
    Tensor result = empty_like(other, changes, format);
    result.fill_(value);
    return result;
}
Tensor ones_like(const Tensor &other, const TensorOptions &changes, OptionalFormat format) { return full_like(other, 1, changes, format); }
Tensor Tensor::new_full(IntArrayRef size, const Scalar &value, TensorOptions changes) const { return full(size, value, options().merge_in(changes)); }
Tensor Tensor::new_ones(IntArrayRef size, TensorOptions changes) const { return ones(size, options().merge_in(changes)); }

Tensor arange(const Scalar &start, const Scalar &end, const Scalar &step, const TensorOptions &options) {
    const double by = step.toDouble();
    const double length = (end.toDouble() - start.toDouble()) / by;
    if (by == 0 || length < 0) refuse("arange: upper bound and lower bound inconsistent with step sign");
    const bool integral = !start.isFloatingPoint() && !end.isFloatingPoint() && !step.isFloatingPoint();
    Tensor result = empty(static_cast<int64_t>(ceil(length)), options.has_dtype() || !integral ? options : options.dtype(c10::kLong));
    if (result.is_cuda()) {
        device_range(result.get(), start.toDouble(), by, current_stream());
    } else {
        for (int64_t i = 0; i < result.numel(); ++i)
            store_element(result.data_ptr(), i, result.get().dtype, number_of(start.toDouble() + by * static_cast<double>(i)));
    }
    return result;
}
Tensor arange(const Scalar &start, const Scalar &end, const TensorOptions &options) { return arange(start, end, 1, options); }
Tensor arange(const Scalar &end, const TensorOptions &options) { return arange(0, end, 1, options); }

}  // namespace at
