/* at::Tensor: a counted reference to sizes, strides and a storage of the host.

   Shapes, views, copies and conversions are here; arithmetic is not: a candidate writes it as a kernel. The
   functions are defined in the support library, which is compiled once. */
#pragma once

#include "array.h"
#include "dtype.h"
#include "error.h"
#include "options.h"

namespace at {
class Tensor;
namespace indexing {
struct TensorIndex;
}

/* What the deprecated Tensor::type() returns. */
class DeprecatedTypeProperties {
  public:
    DeprecatedTypeProperties(ScalarType type, Device device) : type_(type), device_(device) {}
    ScalarType scalarType() const { return type_; }
    caffe2::TypeMeta typeMeta() const { return caffe2::TypeMeta(type_); }
    bool is_cuda() const { return device_.is_cuda(); }
    bool is_sparse() const { return false; }
    DeviceType device_type() const { return device_.type(); }
    TensorOptions options() const { return TensorOptions(type_).device(device_); }
    operator TensorOptions() const { return options(); }
    bool operator==(const DeprecatedTypeProperties &other) const {
        return type_ == other.type_ && device_.type() == other.device_.type();
    }
    bool operator!=(const DeprecatedTypeProperties &other) const { return !(*this == other); }
#ifdef EVO_WITH_STRING
    std::string toString() const {
        return std::string(is_cuda() ? "CUDA" : "CPU") + c10::toString(type_) + "Type";
    }
#endif

  private:
    ScalarType type_;
    Device device_;
};
}  // namespace at

namespace evo {

struct TensorImpl {
    EvoTensor tensor;
    int64_t references; /* changed atomically */
    void retain();
    void release();
};

struct StorageView {
    EvoTensor *tensor;
    void *data() const { return tensor->storage ? tensor->storage->data : tensor->data; }
    void *data_ptr() const { return data(); }
    size_t nbytes() const;
};

[[noreturn]] void fail_dtype(c10::ScalarType expected, const at::Tensor &tensor);

}  // namespace evo

#ifdef EVO_WITH_ACCESSOR
#include "accessor.h"
#endif

namespace at {

class Tensor {
  public:
    Tensor() = default;
    Tensor(const Tensor &other) : impl_(other.impl_) {
        if (impl_) impl_->retain();
    }
    Tensor(Tensor &&other) noexcept : impl_(other.impl_) { other.impl_ = nullptr; }
    explicit Tensor(::evo::TensorImpl *owned) : impl_(owned) {}
    ~Tensor() {
        if (impl_) impl_->release();
    }
    Tensor &operator=(const Tensor &other) & {
        if (other.impl_) other.impl_->retain();
        if (impl_) impl_->release();
        impl_ = other.impl_;
        return *this;
    }
    Tensor &operator=(Tensor &&other) & noexcept {
        ::evo::TensorImpl *held = impl_;
        impl_ = other.impl_;
        other.impl_ = held;
        return *this;
    }

    /* `x[0] = y` writes into the elements of x. */
    const Tensor &operator=(const Tensor &source) && { return copy_(source); }
    const Tensor &operator=(Tensor &&source) && { return copy_(source); }
    const Tensor &operator=(const Scalar &value) && { return fill_(value); }

    /* What it is. */
    bool defined() const { return impl_ != nullptr; }
    void reset() { *this = Tensor(); }
    bool is_same(const Tensor &other) const { return impl_ == other.impl_; }
    int64_t dim() const { return get().dimensions; }
    int64_t ndimension() const { return dim(); }
    int64_t size(int64_t dimension) const;
    int64_t stride(int64_t dimension) const;
    IntArrayRef sizes() const { return IntArrayRef(get().sizes, static_cast<size_t>(get().dimensions)); }
    IntArrayRef strides() const { return IntArrayRef(get().strides, static_cast<size_t>(get().dimensions)); }
    int64_t numel() const;
    size_t element_size() const { return c10::elementSize(scalar_type()); }
    size_t itemsize() const { return element_size(); }
    size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
    int64_t storage_offset() const { return get().storage_offset; }
    ::evo::StorageView storage() const { return {const_cast<EvoTensor *>(&get())}; }
    bool has_storage() const { return defined(); }
    ScalarType scalar_type() const { return static_cast<ScalarType>(get().dtype); }
    caffe2::TypeMeta dtype() const { return caffe2::TypeMeta(scalar_type()); }
    DeprecatedTypeProperties type() const { return DeprecatedTypeProperties(scalar_type(), device()); }
#ifdef EVO_WITH_STRING
    std::string toString() const { return type().toString(); }
#endif
    Device device() const {
        const EvoTensor &tensor = get();
        return tensor.device_type == EVO_CUDA ? Device(c10::kCUDA, static_cast<int8_t>(tensor.device_index))
                                              : Device(c10::kCPU);
    }
    int64_t get_device() const { return is_cuda() ? get().device_index : -1; }
    TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
    Layout layout() const { return c10::kStrided; }
    bool is_cuda() const { return get().device_type == EVO_CUDA; }
    bool is_cpu() const { return get().device_type == EVO_CPU; }
    bool is_sparse() const { return false; }
    bool is_quantized() const { return false; }
    bool is_mkldnn() const { return false; }
    bool is_meta() const { return false; }
    bool is_nested() const { return false; }
    bool is_pinned() const { return false; }
    bool is_leaf() const { return true; }
    bool is_neg() const { return false; }
    bool is_conj() const { return false; }
    bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    bool is_non_overlapping_and_dense() const;
    MemoryFormat suggest_memory_format() const;
    bool is_floating_point() const { return c10::isFloatingType(scalar_type()); }
    bool is_complex() const { return c10::isComplexType(scalar_type()); }
    bool is_signed() const;
    bool is_alias_of(const Tensor &other) const { return get().storage == other.get().storage; }
    size_t use_count() const { return impl_ ? static_cast<size_t>(impl_->references) : 0; }
    bool requires_grad() const { return false; }
    const Tensor &requires_grad_(bool = true) const { return *this; }
    const Tensor &set_requires_grad(bool) const { return *this; }
    Tensor grad() const { return Tensor(); }
    Tensor detach() const { return *this; }
    const Tensor &detach_() const { return *this; }
    Tensor variable_data() const { return *this; }
    Tensor tensor_data() const { return *this; }
    template <typename Stream>
    void record_stream(const Stream &) const {}
    const EvoTensor &get() const {
        if (!impl_) fail_undefined();
        return impl_->tensor;
    }

    /* Its elements. */
    void *data_ptr() const { return get().data; }
    const void *const_data_ptr() const { return get().data; }
    void *mutable_data_ptr() const { return get().data; }
    template <typename T>
    T *data_ptr() const {
        constexpr ScalarType type = c10::CPPTypeToScalarType<std::remove_const_t<T>>::value;
        if (scalar_type() != type) ::evo::fail_dtype(type, *this);
        return static_cast<T *>(get().data);
    }
    template <typename T>
    const std::remove_const_t<T> *const_data_ptr() const {
        return data_ptr<std::remove_const_t<T>>();
    }
    template <typename T>
    T *mutable_data_ptr() const {
        return data_ptr<T>();
    }
    template <typename T>
    T *data() const {
        return data_ptr<T>();
    }
    Tensor data() const { return *this; }
    Scalar item() const;
    template <typename T>
    T item() const {
        return item().template to<T>();
    }
    void read_element(void *target) const;
#ifdef EVO_WITH_ACCESSOR
    template <typename T, size_t N>
    TensorAccessor<T, N> accessor() const & {
        check_dimensions(N);
        return TensorAccessor<T, N>(data_ptr<T>(), get().sizes, get().strides);
    }
    template <typename T, size_t N, template <typename> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
    GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() const & {
        check_dimensions(N);
        return GenericPackedTensorAccessor<T, N, PtrTraits, index_t>(data_ptr<T>(), get().sizes, get().strides);
    }
    template <typename T, size_t N, template <typename> class PtrTraits = DefaultPtrTraits>
    PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const & {
        check_packable();
        return generic_packed_accessor<T, N, PtrTraits, int32_t>();
    }
    template <typename T, size_t N, template <typename> class PtrTraits = DefaultPtrTraits>
    PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const & {
        return generic_packed_accessor<T, N, PtrTraits, int64_t>();
    }
    template <typename T, size_t N, template <typename> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
    GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed_accessor() const & {
        return generic_packed_accessor<T, N, PtrTraits, index_t>();
    }
#endif

    /* Views of the same storage. */
    Tensor view(IntArrayRef size) const;
    Tensor view(ScalarType type) const;
    Tensor reshape(IntArrayRef shape) const;
    Tensor view_as(const Tensor &other) const { return view(other.sizes()); }
    Tensor reshape_as(const Tensor &other) const { return reshape(other.sizes()); }
    Tensor flatten(int64_t start = 0, int64_t end = -1) const;
    Tensor unflatten(int64_t dimension, IntArrayRef sizes) const;
    Tensor squeeze() const;
    Tensor squeeze(int64_t dimension) const;
    Tensor unsqueeze(int64_t dimension) const;
    Tensor transpose(int64_t first, int64_t second) const;
    Tensor t() const;
    Tensor mT() const { return transpose(-2, -1); }
    Tensor permute(IntArrayRef order) const;
    Tensor movedim(int64_t source, int64_t destination) const;
    Tensor moveaxis(int64_t source, int64_t destination) const { return movedim(source, destination); }
    Tensor swapaxes(int64_t first, int64_t second) const { return transpose(first, second); }
    Tensor swapdims(int64_t first, int64_t second) const { return transpose(first, second); }
    Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;
    Tensor expand(IntArrayRef size, bool implicit = false) const;
    Tensor expand_as(const Tensor &other) const { return expand(other.sizes()); }
    Tensor narrow(int64_t dimension, int64_t start, int64_t length) const;
    Tensor select(int64_t dimension, int64_t index) const;
    Tensor slice(int64_t dimension = 0, ::evo::OptionalInt start = {}, ::evo::OptionalInt end = {},
                 int64_t step = 1) const;
    Tensor as_strided(IntArrayRef size, IntArrayRef stride) const { return as_strided(size, stride, storage_offset()); }
    Tensor as_strided(IntArrayRef size, IntArrayRef stride, int64_t offset) const;
    Tensor operator[](int64_t index) const { return select(0, index); }
    Tensor index(std::initializer_list<indexing::TensorIndex> indices) const; /* in indexing.h */
    Tensor alias() const;
    const Tensor &squeeze_(int64_t dimension) const { return become(squeeze(dimension)); }
    const Tensor &unsqueeze_(int64_t dimension) const { return become(unsqueeze(dimension)); }
    const Tensor &transpose_(int64_t first, int64_t second) const { return become(transpose(first, second)); }
    const Tensor &t_() const { return become(t()); }
#ifdef EVO_WITH_VECTOR
    std::vector<Tensor> unbind(int64_t dimension = 0) const {
        std::vector<Tensor> parts;
        for (int64_t i = 0; i < size(dimension); ++i) parts.push_back(select(dimension, i));
        return parts;
    }
    std::vector<Tensor> split(int64_t length, int64_t dimension = 0) const {
        std::vector<Tensor> parts;
        const int64_t extent = size(dimension);
        for (int64_t start = 0; start < extent; start += length)
            parts.push_back(narrow(dimension, start, start + length < extent ? length : extent - start));
        return parts;
    }
    std::vector<Tensor> chunk(int64_t count, int64_t dimension = 0) const {
        const int64_t extent = size(dimension);
        return split(extent > count ? (extent + count - 1) / count : 1, dimension);
    }
#endif

    /* Copies. */
    Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
    Tensor clone(::evo::OptionalFormat format = {}) const;
    const Tensor &copy_(const Tensor &source, bool non_blocking = false) const;
    const Tensor &zero_() const;
    const Tensor &fill_(const Scalar &value) const;
    const Tensor &fill_(const Tensor &value) const { return fill_(value.item()); }
    const Tensor &resize_(IntArrayRef size) const;
    const Tensor &set_(const Tensor &source) const { return become(source); }
    Tensor to(ScalarType type, bool non_blocking = false, bool copy = false, ::evo::OptionalFormat format = {}) const {
        return converted(options().dtype(type), non_blocking, copy, format);
    }
    Tensor to(caffe2::TypeMeta type, bool non_blocking = false, bool copy = false) const {
        return to(type.toScalarType(), non_blocking, copy);
    }
    Tensor to(Device device, bool non_blocking = false, bool copy = false) const {
        return converted(options().device(device), non_blocking, copy, {});
    }
    Tensor to(DeviceType type, bool non_blocking = false, bool copy = false) const {
        return to(Device(type), non_blocking, copy);
    }
    Tensor to(const char *device, bool non_blocking = false, bool copy = false) const {
        return to(Device(device), non_blocking, copy);
    }
    Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false,
              ::evo::OptionalFormat format = {}) const {
        return converted(options().device(device).dtype(type), non_blocking, copy, format);
    }
    Tensor to(const TensorOptions &wanted, bool non_blocking = false, bool copy = false,
              ::evo::OptionalFormat format = {}) const {
        return converted(options().merge_in(wanted), non_blocking, copy, format);
    }
    Tensor to(const Tensor &other, bool non_blocking = false, bool copy = false) const {
        return converted(other.options(), non_blocking, copy, {});
    }
    Tensor toType(ScalarType type) const { return to(type); }
    Tensor type_as(const Tensor &other) const { return to(other.scalar_type()); }
    Tensor toBackend(DeviceType type) const { return to(type); }
    Tensor cpu() const { return to(c10::kCPU); }
    Tensor cuda() const { return to(c10::kCUDA); }
    Tensor pin_memory() const { return *this; }

    /* New tensors like this one. */
    Tensor new_empty(IntArrayRef size, TensorOptions changes = {}) const;
    Tensor new_zeros(IntArrayRef size, TensorOptions changes = {}) const;
    Tensor new_ones(IntArrayRef size, TensorOptions changes = {}) const;
    Tensor new_full(IntArrayRef size, const Scalar &value, TensorOptions changes = {}) const;

    ::evo::TensorImpl *impl() const { return impl_; }
    ::evo::TensorImpl *unsafeGetTensorImpl() const { return impl_; }

  private:
    [[noreturn]] static void fail_undefined();
    void check_dimensions(size_t count) const;
    void check_packable() const;
    const Tensor &become(const Tensor &other) const;
    Tensor converted(const TensorOptions &wanted, bool non_blocking, bool copy, ::evo::OptionalFormat format) const;

    ::evo::TensorImpl *impl_ = nullptr;
};

using TensorList = c10::ArrayRef<Tensor>;

/* `torch::CUDA(torch::kFloat)`: the old way to write options. */
inline DeprecatedTypeProperties CPU(ScalarType type) { return DeprecatedTypeProperties(type, Device(c10::kCPU)); }
inline DeprecatedTypeProperties CUDA(ScalarType type) { return DeprecatedTypeProperties(type, Device(c10::kCUDA)); }

}  // namespace at

namespace torch {
using Tensor = at::Tensor;
using TensorList = at::TensorList;
using at::Device;
using at::DeviceType;
namespace autograd {
using Variable = at::Tensor;
}
}  // namespace torch
