/* Tensors: reference counts, shapes and views. Nothing here copies elements. */
#include <new>

#include "support.h"

namespace evo {

void TensorImpl::retain() { __atomic_add_fetch(&references, 1, __ATOMIC_RELAXED); }
void TensorImpl::release() {
    if (__atomic_sub_fetch(&references, 1, __ATOMIC_ACQ_REL) != 0) return;
    if (tensor.storage) host().release(host().context, tensor.storage);
    delete this;
}

size_t StorageView::nbytes() const {
    return tensor->storage ? tensor->storage->bytes : static_cast<size_t>(element_count(*tensor)) * item_size(*tensor);
}

int64_t product(c10::IntArrayRef sizes) {
    int64_t result = 1;
    for (int64_t size : sizes) result *= size;
    return result;
}

int64_t element_count(const EvoTensor &tensor) {
    return product(c10::IntArrayRef(tensor.sizes, static_cast<size_t>(tensor.dimensions)));
}

int64_t wrap(int64_t dimension, int64_t count) {
    const int64_t range = count ? count : 1; /* a scalar is indexed as if it had one dimension */
    if (dimension < -range || dimension >= range)
        refuse("Dimension out of range (expected to be in range of [", -range, ", ", range - 1, "], but got ", dimension, ")");
    return dimension < 0 ? dimension + range : dimension;
}

void contiguous_strides(c10::IntArrayRef sizes, int64_t *strides) {
    int64_t step = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        strides[d] = step;
        step *= sizes[d] > 1 ? sizes[d] : 1;
    }
}

void format_strides(c10::IntArrayRef sizes, c10::MemoryFormat format, int64_t *strides) {
    const size_t wanted = format == c10::MemoryFormat::ChannelsLast ? 4 : format == c10::MemoryFormat::ChannelsLast3d ? 5 : 0;
    if (!wanted) return contiguous_strides(sizes, strides);
    if (sizes.size() != wanted) refuse("required rank ", wanted, " tensor to use this channels_last format");
    int64_t step = 1;
    strides[1] = step;
    step *= sizes[1] > 1 ? sizes[1] : 1;
    for (size_t d = wanted; d-- > 2;) {
        strides[d] = step;
        step *= sizes[d] > 1 ? sizes[d] : 1;
    }
    strides[0] = step;
}

static bool has_strides(const EvoTensor &tensor, c10::MemoryFormat format) {
    int64_t strides[EVO_MAX_DIMENSIONS];
    const c10::IntArrayRef sizes(tensor.sizes, static_cast<size_t>(tensor.dimensions));
    if (product(sizes) == 0) return true;
    format_strides(sizes, format, strides);
    for (int32_t d = 0; d < tensor.dimensions; ++d)
        if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
    return true;
}

bool is_contiguous(const EvoTensor &tensor) { return has_strides(tensor, c10::MemoryFormat::Contiguous); }

at::Tensor view_of(const at::Tensor &base, c10::IntArrayRef sizes, c10::IntArrayRef strides, int64_t offset) {
    const EvoTensor &from = base.get();
    if (sizes.size() > EVO_MAX_DIMENSIONS) refuse("tensors of more than ", EVO_MAX_DIMENSIONS, " dimensions are not supported");
    TensorImpl *impl = new TensorImpl{from, 1};
    EvoTensor &to = impl->tensor;
    if (to.storage) host().retain(host().context, to.storage);
    to.dimensions = static_cast<int32_t>(sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) {
        to.sizes[d] = sizes[d];
        to.strides[d] = strides[d];
    }
    to.data = static_cast<char *>(from.data) + (offset - from.storage_offset) * static_cast<int64_t>(item_size(from));
    to.storage_offset = offset;
    return at::Tensor(impl);
}

namespace {

/* Sizes and strides under construction. */
struct Shape {
    int64_t sizes[EVO_MAX_DIMENSIONS];
    int64_t strides[EVO_MAX_DIMENSIONS];
    size_t count = 0;
    void add(int64_t size, int64_t stride) {
        if (count == EVO_MAX_DIMENSIONS) refuse("tensors of more than ", EVO_MAX_DIMENSIONS, " dimensions are not supported");
        sizes[count] = size;
        strides[count++] = stride;
    }
    at::Tensor view(const at::Tensor &base, int64_t offset) const {
        return view_of(base, c10::IntArrayRef(sizes, count), c10::IntArrayRef(strides, count), offset);
    }
};

Shape shape_of(const at::Tensor &tensor) {
    Shape shape;
    for (int64_t d = 0; d < tensor.dim(); ++d) shape.add(tensor.sizes()[d], tensor.strides()[d]);
    return shape;
}

}  // namespace

/* The sizes asked for, with -1 worked out. */
void infer_sizes(const at::Tensor &tensor, c10::IntArrayRef wanted, int64_t *sizes) {
    if (wanted.size() > EVO_MAX_DIMENSIONS) refuse("tensors of more than ", EVO_MAX_DIMENSIONS, " dimensions are not supported");
    int64_t known = 1;
    int64_t unknown = -1;
    for (size_t d = 0; d < wanted.size(); ++d) {
        sizes[d] = wanted[d];
        if (wanted[d] == -1 && unknown < 0)
            unknown = static_cast<int64_t>(d);
        else
            known *= wanted[d];
    }
    if (unknown >= 0 && known != 0) sizes[unknown] = tensor.numel() / known;
    if (product(c10::IntArrayRef(sizes, wanted.size())) != tensor.numel())
        refuse("shape '", wanted, "' is invalid for input of size ", tensor.numel());
}

/* Strides for `sizes` over the same elements, if a view can do it. */
bool view_strides(const at::Tensor &tensor, c10::IntArrayRef sizes, int64_t *strides) {
    if (tensor.numel() == 0) {
        contiguous_strides(sizes, strides);
        return true;
    }
    int64_t next = static_cast<int64_t>(sizes.size()) - 1;
    int64_t step = tensor.dim() ? tensor.strides()[tensor.dim() - 1] : 1;
    int64_t chunk = 1;
    int64_t made = 1;
    for (int64_t d = tensor.dim() - 1; d >= 0; --d) {
        chunk *= tensor.sizes()[d];
        /* The end of a run of dimensions that lie one inside the other. */
        if (d == 0 || (tensor.sizes()[d - 1] != 1 && tensor.strides()[d - 1] != chunk * step)) {
            while (next >= 0 && (made < chunk || sizes[next] == 1)) {
                strides[next] = made * step;
                made *= sizes[next--];
            }
            if (made != chunk) return false;
            if (d > 0) {
                step = tensor.strides()[d - 1];
                chunk = made = 1;
            }
        }
    }
    while (next >= 0 && sizes[next] == 1) strides[next--] = step * made;
    return next < 0;
}

}  // namespace evo

namespace at {

using namespace ::evo;

void Tensor::fail_undefined() { refuse("this tensor is undefined: torch::Tensor() without a value, or a missing optional argument"); }
int64_t Tensor::numel() const { return element_count(get()); }
int64_t Tensor::size(int64_t dimension) const {
    if (dim() == 0) refuse("dimension specified as ", dimension, " but tensor has no dimensions");
    return sizes()[static_cast<size_t>(wrap(dimension, dim()))];
}
int64_t Tensor::stride(int64_t dimension) const {
    if (dim() == 0) refuse("dimension specified as ", dimension, " but tensor has no dimensions");
    return strides()[static_cast<size_t>(wrap(dimension, dim()))];
}
bool Tensor::is_contiguous(MemoryFormat format) const {
    if ((format == MemoryFormat::ChannelsLast && dim() != 4) || (format == MemoryFormat::ChannelsLast3d && dim() != 5)) return false;
    return has_strides(get(), format);
}
MemoryFormat Tensor::suggest_memory_format() const {
    if (is_contiguous()) return MemoryFormat::Contiguous;
    if (is_contiguous(MemoryFormat::ChannelsLast)) return MemoryFormat::ChannelsLast;
    if (is_contiguous(MemoryFormat::ChannelsLast3d)) return MemoryFormat::ChannelsLast3d;
    return MemoryFormat::Contiguous;
}
bool Tensor::is_non_overlapping_and_dense() const {
    /* Dense: sorted by stride, each dimension starts where the smaller ones end. */
    bool used[EVO_MAX_DIMENSIONS] = {};
    int64_t expected = 1;
    for (int64_t round = 0; round < dim(); ++round) {
        int64_t found = -1;
        for (int64_t d = 0; d < dim(); ++d)
            if (!used[d] && (sizes()[d] == 1 || strides()[d] == expected)) found = d;
        if (found < 0) return numel() == 0;
        used[found] = true;
        expected *= sizes()[found];
    }
    return true;
}
bool Tensor::is_signed() const {
    const ScalarType type = scalar_type();
    return type != c10::kByte && type != c10::kBool && type != c10::kUInt16 && type != c10::kUInt32 && type != c10::kUInt64;
}
void Tensor::check_dimensions(size_t count) const {
    if (static_cast<size_t>(dim()) != count) refuse("TensorAccessor expected ", count, " dims but tensor has ", dim());
}
void Tensor::check_packable() const {
    if (numel() > INT32_MAX) refuse("numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
}
const Tensor &Tensor::become(const Tensor &other) const {
    get();
    const EvoTensor held = impl_->tensor;
    if (other.get().storage) host().retain(host().context, other.get().storage);
    impl_->tensor = other.get();
    if (held.storage) host().release(host().context, held.storage);
    return *this;
}

Tensor Tensor::alias() const { return view_of(*this, sizes(), strides(), storage_offset()); }

Tensor Tensor::view(IntArrayRef size) const {
    int64_t wanted[EVO_MAX_DIMENSIONS], found[EVO_MAX_DIMENSIONS];
    infer_sizes(*this, size, wanted);
    const IntArrayRef shape(wanted, size.size());
    if (!view_strides(*this, shape, found))
        refuse("view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
               "contiguous subspaces). Use .reshape(...) instead.");
    return view_of(*this, shape, IntArrayRef(found, size.size()), storage_offset());
}

Tensor Tensor::view(ScalarType type) const {
    const int64_t before = static_cast<int64_t>(element_size());
    const int64_t after = static_cast<int64_t>(c10::elementSize(type));
    if (before != after && (!::evo::is_contiguous(get()) || dim() == 0 || sizes()[dim() - 1] * before % after != 0))
        refuse("a view as ", type, " needs a contiguous tensor whose last dimension divides evenly");
    Tensor result = alias();
    EvoTensor &to = result.impl()->tensor;
    to.dtype = static_cast<int32_t>(type);
    to.storage_offset = to.storage_offset * before / after;
    if (before != after) {
        to.sizes[to.dimensions - 1] = to.sizes[to.dimensions - 1] * before / after;
        contiguous_strides(result.sizes(), to.strides);
    }
    return result;
}

Tensor Tensor::unflatten(int64_t dimension, IntArrayRef parts) const {
    dimension = wrap(dimension, dim());
    Shape shape;
    for (int64_t d = 0; d < dim(); ++d) {
        if (d != dimension) {
            shape.add(sizes()[d], 0);
            continue;
        }
        int64_t known = 1;
        for (int64_t part : parts) known *= part == -1 ? 1 : part;
        for (int64_t part : parts) shape.add(part == -1 ? sizes()[d] / known : part, 0);
    }
    return view(IntArrayRef(shape.sizes, shape.count));
}

Tensor Tensor::squeeze() const {
    Shape shape;
    for (int64_t d = 0; d < dim(); ++d)
        if (sizes()[d] != 1) shape.add(sizes()[d], strides()[d]);
    return shape.view(*this, storage_offset());
}
Tensor Tensor::squeeze(int64_t dimension) const {
    dimension = wrap(dimension, dim());
    Shape shape;
    for (int64_t d = 0; d < dim(); ++d)
        if (d != dimension || sizes()[d] != 1) shape.add(sizes()[d], strides()[d]);
    return shape.view(*this, storage_offset());
}
Tensor Tensor::unsqueeze(int64_t dimension) const {
    dimension = wrap(dimension, dim() + 1);
    Shape shape;
    for (int64_t d = 0; d <= dim(); ++d) {
        if (d == dimension) shape.add(1, d < dim() ? sizes()[d] * strides()[d] : 1);
        if (d < dim()) shape.add(sizes()[d], strides()[d]);
    }
    return shape.view(*this, storage_offset());
}
Tensor Tensor::transpose(int64_t first, int64_t second) const {
    if (dim() == 0) return alias();
    first = wrap(first, dim());
    second = wrap(second, dim());
    Shape shape = shape_of(*this);
    std::swap(shape.sizes[first], shape.sizes[second]);
    std::swap(shape.strides[first], shape.strides[second]);
    return shape.view(*this, storage_offset());
}
Tensor Tensor::t() const {
    if (dim() > 2) refuse("t() expects a tensor with <= 2 dimensions, but self is ", dim(), "D");
    return dim() < 2 ? alias() : transpose(0, 1);
}
Tensor Tensor::permute(IntArrayRef order) const {
    if (static_cast<int64_t>(order.size()) != dim())
        refuse("permute(dims): number of dimensions in the tensor input does not match the length of the desired ordering: ", dim(), " and ", order.size());
    Shape shape;
    bool seen[EVO_MAX_DIMENSIONS] = {};
    for (int64_t place : order) {
        place = wrap(place, dim());
        if (seen[place]) refuse("permute(dims): duplicate dims are not allowed.");
        seen[place] = true;
        shape.add(sizes()[place], strides()[place]);
    }
    return shape.view(*this, storage_offset());
}
Tensor Tensor::movedim(int64_t source, int64_t destination) const {
    source = wrap(source, dim());
    destination = wrap(destination, dim());
    Shape shape;
    for (int64_t d = 0, from = 0; d < dim(); ++d) {
        if (d == destination) {
            shape.add(sizes()[source], strides()[source]);
            continue;
        }
        if (from == source) ++from;
        shape.add(sizes()[from], strides()[from]);
        ++from;
    }
    return shape.view(*this, storage_offset());
}
Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
    if (dim() == 0) refuse("unfold() expects a tensor with at least one dimension");
    dimension = wrap(dimension, dim());
    if (step <= 0 || size < 0 || size > sizes()[dimension])
        refuse("unfold(", dimension, ", ", size, ", ", step, ") does not fit a dimension of ", sizes()[dimension]);
    Shape shape = shape_of(*this);
    shape.sizes[dimension] = (sizes()[dimension] - size) / step + 1;
    shape.strides[dimension] *= step;
    shape.add(size, strides()[dimension]);
    return shape.view(*this, storage_offset());
}
Tensor Tensor::expand(IntArrayRef size, bool) const {
    const int64_t added = static_cast<int64_t>(size.size()) - dim();
    if (added < 0) refuse("expand(", size, "): the number of sizes must be at least the number of dimensions (", dim(), ")");
    Shape shape;
    for (int64_t d = 0; d < static_cast<int64_t>(size.size()); ++d) {
        const int64_t have = d < added ? 1 : sizes()[d - added];
        const int64_t want = size[d] == -1 ? have : size[d];
        if (have != want && have != 1)
            refuse("The expanded size of the tensor (", want, ") must match the existing size (", have, ") at non-singleton dimension ", d);
        shape.add(want, have == want && d >= added ? strides()[d - added] : 0);
    }
    return shape.view(*this, storage_offset());
}
Tensor Tensor::narrow(int64_t dimension, int64_t start, int64_t length) const {
    const int64_t extent = size(dimension);
    if (start < 0) start += extent;
    if (start < 0 || length < 0 || start + length > extent)
        refuse("start (", start, ") + length (", length, ") exceeds dimension size (", extent, ").");
    return slice(dimension, start, start + length);
}
Tensor Tensor::select(int64_t dimension, int64_t index) const {
    if (dim() == 0) refuse("select() cannot be applied to a 0-dim tensor.");
    dimension = wrap(dimension, dim());
    const int64_t extent = sizes()[dimension];
    if (index < -extent || index >= extent)
        refuse("select(): index ", index, " out of range for tensor of size ", sizes(), " at dimension ", dimension);
    if (index < 0) index += extent;
    Shape shape;
    for (int64_t d = 0; d < dim(); ++d)
        if (d != dimension) shape.add(sizes()[d], strides()[d]);
    return shape.view(*this, storage_offset() + index * strides()[dimension]);
}
Tensor Tensor::slice(int64_t dimension, OptionalInt start, OptionalInt end, int64_t step) const {
    const int64_t extent = size(dimension);
    dimension = wrap(dimension, dim());
    if (step <= 0) refuse("slice step must be positive");
    int64_t first = start.given ? start.value : 0;
    int64_t last = end.given ? end.value : extent;
    if (first < 0) first += extent;
    if (last < 0) last += extent;
    first = first < 0 ? 0 : first > extent ? extent : first;
    last = last < first ? first : last > extent ? extent : last;
    Shape shape = shape_of(*this);
    shape.sizes[dimension] = (last - first + step - 1) / step;
    shape.strides[dimension] = strides()[dimension] * step;
    return shape.view(*this, storage_offset() + first * strides()[dimension]);
}
Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride, int64_t offset) const {
    if (size.size() != stride.size()) refuse("mismatch in length of strides and shape");
    int64_t last = offset;
    for (size_t d = 0; d < size.size(); ++d) last += size[d] > 0 ? (size[d] - 1) * stride[d] : 0;
    if (product(size) > 0 && (offset < 0 || static_cast<size_t>(last + 1) * element_size() > storage().nbytes()))
        refuse("setStorage: sizes ", size, ", strides ", stride, " and storage offset ", offset, " are out of bounds for storage of size ", storage().nbytes());
    return view_of(*this, size, stride, offset);
}

}  // namespace at

namespace c10 {
Device::Device(const char *name) : type_(kCPU), index_(-1) {
    const char *rest = name;
    if (__builtin_strncmp(name, "cuda", 4) == 0) {
        type_ = kCUDA;
        rest = name + 4;
    } else if (__builtin_strncmp(name, "cpu", 3) == 0) {
        rest = name + 3;
    } else {
        ::evo::refuse("Expected one of cpu, cuda device type at start of device string: ", name);
    }
    if (*rest == ':') {
        int index = 0;
        for (++rest; *rest >= '0' && *rest <= '9'; ++rest) index = index * 10 + (*rest - '0');
        index_ = static_cast<DeviceIndex>(index);
    }
    if (*rest) ::evo::refuse("Invalid device string: '", name, "'");
}
}  // namespace c10
