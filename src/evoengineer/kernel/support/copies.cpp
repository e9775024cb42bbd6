/* Everything that moves elements: contiguous, clone, copy_, to, item, reshape of what no view can show. */
#include <string.h>

#include "elements.h"
#include "support.h"

namespace evo {

void infer_sizes(const at::Tensor &tensor, c10::IntArrayRef wanted, int64_t *sizes);
bool view_strides(const at::Tensor &tensor, c10::IntArrayRef sizes, int64_t *strides);

namespace {

bool same_strides(const EvoTensor &a, const EvoTensor &b) {
    for (int32_t d = 0; d < a.dimensions; ++d)
        if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
    return true;
}

void copy_bytes(const EvoTensor &target, const EvoTensor &source, size_t bytes) {
    if (bytes == 0) return;
    if (target.device_type == EVO_CPU && source.device_type == EVO_CPU) {
        memcpy(target.data, source.data, bytes);
        return;
    }
    const cudaStream_t stream = current_stream();
    C10_CUDA_CHECK(cudaMemcpyAsync(target.data, source.data, bytes, cudaMemcpyDefault, stream));
    if (target.device_type != source.device_type) C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void copy_on_host(const EvoTensor &target, const EvoTensor &source) {
    const int64_t count = element_count(target);
    const size_t size = item_size(target);
    for (int64_t i = 0; i < count; ++i) {
        int64_t to = 0, from = 0;
        for (int64_t d = target.dimensions - 1, index = i; d >= 0; --d) {
            to += index % target.sizes[d] * target.strides[d];
            from += index % target.sizes[d] * source.strides[d];
            index /= target.sizes[d];
        }
        if (target.dtype == source.dtype)
            memcpy(static_cast<char *>(target.data) + to * static_cast<int64_t>(size),
                   static_cast<const char *>(source.data) + from * static_cast<int64_t>(size), size);
        else
            store_element(target.data, to, target.dtype, load_element(source.data, from, source.dtype));
    }
}

}  // namespace
}  // namespace evo

namespace at {

using namespace ::evo;

const Tensor &Tensor::copy_(const Tensor &from, bool) const {
    const EvoTensor &target = get();
    const Tensor source = from.sizes() == sizes() ? from : from.expand(sizes());
    const EvoTensor &origin = source.get();
    if (target.dtype != origin.dtype && !(convertible(target.dtype) && convertible(origin.dtype)))
        fail(EVO_ERROR_UNSUPPORTED, 0, "conversion from or to complex and 8-bit floating point types is not supported");
    const bool same_place = target.device_type == origin.device_type;
    if (target.dtype == origin.dtype && same_strides(target, origin) && is_non_overlapping_and_dense()) {
        copy_bytes(target, origin, nbytes());
    } else if (!same_place) {
        /* Converted and dense where it is, then moved, then spread out. */
        const Tensor moved = source.to(scalar_type()).contiguous();
        const Tensor landed = ::evo::is_contiguous(target) ? *this : at::empty(sizes(), options());
        copy_bytes(landed.get(), moved.get(), nbytes());
        if (!landed.is_same(*this)) copy_(landed);
    } else if (target.device_type == EVO_CUDA) {
        device_copy(target, origin, current_stream());
    } else {
        copy_on_host(target, origin);
    }
    return *this;
}

Tensor Tensor::contiguous(MemoryFormat format) const {
    if (format == MemoryFormat::Preserve) refuse("preserve memory format is unsupported by the contiguous operator");
    if (is_contiguous(format)) return *this;
    return clone(format);
}

Tensor Tensor::clone(OptionalFormat format) const {
    Tensor result = empty_like(*this, {}, format);
    result.copy_(*this);
    return result;
}

Tensor Tensor::converted(const TensorOptions &wanted, bool, bool copy, OptionalFormat format) const {
    if (!format.given && wanted.has_memory_format()) format = wanted.memory_format();
    const Device place = wanted.device();
    const bool here = place.type() == device().type() && (!place.has_index() || place.index() == get_device() || place.is_cpu());
    const bool as_is = !format.given || format.format == MemoryFormat::Preserve || is_contiguous(format.format);
    if (!copy && here && as_is && wanted.scalar_type() == scalar_type()) return *this;
    Tensor result = empty_like(*this, wanted, format);
    result.copy_(*this);
    return result;
}

Scalar Tensor::item() const {
    if (numel() != 1) refuse("a Tensor with ", numel(), " elements cannot be converted to Scalar");
    const EvoTensor &tensor = get();
    if (!convertible(tensor.dtype)) fail(EVO_ERROR_UNSUPPORTED, 0, "item() of complex and 8-bit floating point types is not supported");
    alignas(16) char element[16];
    EvoTensor target = {};
    target.data = element;
    target.device_type = EVO_CPU;
    copy_bytes(target, tensor, element_size());
    const Number value = load_element(element, 0, tensor.dtype);
    if (scalar_type() == c10::kBool) return Scalar(value.integer != 0);
    return value.integral ? Scalar(value.integer) : Scalar(value.number);
}

Tensor Tensor::reshape(IntArrayRef shape) const {
    int64_t wanted[EVO_MAX_DIMENSIONS], found[EVO_MAX_DIMENSIONS];
    infer_sizes(*this, shape, wanted);
    const IntArrayRef sizes(wanted, shape.size());
    if (view_strides(*this, sizes, found)) return view_of(*this, sizes, IntArrayRef(found, shape.size()), storage_offset());
    return clone(MemoryFormat::Contiguous).view(sizes);
}

Tensor Tensor::flatten(int64_t start, int64_t end) const {
    start = wrap(start, dim());
    end = wrap(end, dim());
    if (start > end) refuse("flatten() has invalid args: start_dim cannot come after end_dim");
    if (dim() == 0) return reshape(IntArrayRef({1}));
    int64_t shape[EVO_MAX_DIMENSIONS];
    size_t count = 0;
    for (int64_t d = 0; d < dim(); ++d) {
        if (d > start && d <= end)
            shape[count - 1] *= sizes()[d];
        else
            shape[count++] = sizes()[d];
    }
    return reshape(IntArrayRef(shape, count));
}

Tensor tensor_of(const void *elements, size_t count, bool is_scalar, ScalarType type, const TensorOptions &options) {
    /* Without a type of their own, doubles in a list become float32, as in PyTorch. */
    const ScalarType wanted = options.has_dtype() ? options.scalar_type() : type == c10::kDouble ? c10::kFloat : type;
    const int64_t length = static_cast<int64_t>(count);
    const Tensor given = from_blob(const_cast<void *>(elements), is_scalar ? IntArrayRef() : IntArrayRef(&length, 1), type);
    return given.to(options.device(), wanted, false, true);
}

}  // namespace at
