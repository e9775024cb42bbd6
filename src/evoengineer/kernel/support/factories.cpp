/* New tensors whose elements are undefined or zero; storage comes from the host. */
#include <string.h>

#include "support.h"

namespace evo {

at::Tensor allocate(c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t elements, const c10::TensorOptions &options) {
    if (sizes.size() > EVO_MAX_DIMENSIONS) refuse("tensors of more than ", EVO_MAX_DIMENSIONS, " dimensions are not supported");
    for (int64_t size : sizes)
        if (size < 0) refuse("Trying to create tensor with negative dimension ", size, ": ", sizes);
    EvoTensor tensor = {};
    tensor.dtype = static_cast<int32_t>(options.scalar_type());
    tensor.device_type = options.device().is_cuda() ? EVO_CUDA : EVO_CPU;
    if (options.device().is_cuda())
        tensor.device_index = options.device().has_index() ? options.device().index() : host().device_index;
    tensor.dimensions = static_cast<int32_t>(sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) {
        tensor.sizes[d] = sizes[d];
        tensor.strides[d] = strides[d];
    }
    EvoError error = {};
    const size_t bytes = static_cast<size_t>(elements) * item_size(tensor);
    tensor.storage = host().allocate(host().context, bytes, tensor.device_type, tensor.device_index, &error);
    if (!tensor.storage) fail(EVO_ERROR_MEMORY, error.code, error.message);
    tensor.data = tensor.storage->data;
    return at::Tensor(new TensorImpl{tensor, 1});
}

void zero_bytes(const EvoTensor &tensor, size_t bytes) {
    if (bytes == 0) return;
    if (tensor.device_type == EVO_CUDA) {
        C10_CUDA_CHECK(cudaMemsetAsync(tensor.data, 0, bytes, current_stream()));
    } else {
        memset(tensor.data, 0, bytes);
    }
}

namespace {

/* What empty_like makes: dense tensors keep their order of dimensions unless a format is asked for. */
at::Tensor like(const at::Tensor &other, const c10::TensorOptions &changes, OptionalFormat format) {
    const c10::TensorOptions options = other.options().merge_in(changes);
    int64_t strides[EVO_MAX_DIMENSIONS];
    const size_t count = static_cast<size_t>(other.dim());
    if (!format.given && changes.has_memory_format()) format = changes.memory_format();
    const bool preserve = !format.given || format.format == c10::MemoryFormat::Preserve;
    if (!preserve)
        format_strides(other.sizes(), format.format, strides);
    else if (other.is_non_overlapping_and_dense())
        for (size_t d = 0; d < count; ++d) strides[d] = other.strides()[d];
    else
        contiguous_strides(other.sizes(), strides);
    return allocate(other.sizes(), c10::IntArrayRef(strides, count), other.numel(), options);
}

}  // namespace
}  // namespace evo

namespace at {

using namespace ::evo;

Tensor empty(IntArrayRef size, const TensorOptions &options, OptionalFormat format) {
    if (size.size() > EVO_MAX_DIMENSIONS) refuse("tensors of more than ", EVO_MAX_DIMENSIONS, " dimensions are not supported");
    int64_t strides[EVO_MAX_DIMENSIONS];
    if (!format.given && options.has_memory_format()) format = options.memory_format();
    format_strides(size, format.format, strides);
    return allocate(size, IntArrayRef(strides, size.size()), product(size), options);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions &options) {
    if (size.size() != stride.size()) refuse("mismatch in length of strides and shape");
    int64_t elements = 1;
    for (size_t d = 0; d < size.size(); ++d) elements += size[d] > 0 ? (size[d] - 1) * stride[d] : 0;
    return allocate(size, stride, product(size) == 0 ? 0 : elements, options);
}

Tensor zeros(IntArrayRef size, const TensorOptions &options) {
    Tensor result = empty(size, options);
    zero_bytes(result.get(), result.nbytes());
    return result;
}

Tensor empty_like(const Tensor &other, const TensorOptions &changes, OptionalFormat format) { return like(other, changes, format); }

Tensor zeros_like(const Tensor &other, const TensorOptions &changes, OptionalFormat format) {
    Tensor result = like(other, changes, format);
    zero_bytes(result.get(), result.nbytes());
    return result;
}

Tensor Tensor::new_empty(IntArrayRef size, TensorOptions changes) const { return empty(size, options().merge_in(changes)); }
Tensor Tensor::new_zeros(IntArrayRef size, TensorOptions changes) const { return zeros(size, options().merge_in(changes)); }

Tensor from_blob(void *data, IntArrayRef size, const TensorOptions &options) {
    int64_t strides[EVO_MAX_DIMENSIONS];
    contiguous_strides(size, strides);
    return from_blob(data, size, IntArrayRef(strides, size.size()), options);
}

Tensor from_blob(void *data, IntArrayRef size, IntArrayRef stride, const TensorOptions &options) {
    if (size.size() > EVO_MAX_DIMENSIONS || size.size() != stride.size()) refuse("from_blob: sizes ", size, " and strides ", stride, " do not fit");
    EvoTensor tensor = {};
    tensor.data = data;
    tensor.dtype = static_cast<int32_t>(options.scalar_type());
    tensor.device_type = options.device().is_cuda() ? EVO_CUDA : EVO_CPU;
    tensor.device_index = options.device().is_cuda() && options.device().has_index() ? options.device().index() : 0;
    tensor.dimensions = static_cast<int32_t>(size.size());
    for (size_t d = 0; d < size.size(); ++d) {
        tensor.sizes[d] = size[d];
        tensor.strides[d] = stride[d];
    }
    return Tensor(new TensorImpl{tensor, 1});
}

const Tensor &Tensor::resize_(IntArrayRef size) const {
    int64_t strides[EVO_MAX_DIMENSIONS];
    contiguous_strides(size, strides);
    const IntArrayRef shape(strides, size.size());
    if (static_cast<size_t>(storage_offset() + product(size)) * element_size() <= storage().nbytes())
        return become(view_of(*this, size, shape, storage_offset()));
    if (numel() != 0) refuse("resize_ to a larger size keeps the elements in PyTorch; make a new tensor instead");
    return become(empty(size, options()));
}

}  // namespace at
