/* Streams, devices, guards, and the small device-side helpers of ATen/cuda and c10/cuda. */
#pragma once

#include "factories.h"

namespace evo {
cudaStream_t current_stream();
void set_current_stream(cudaStream_t stream);
cudaStream_t stream_from_pool();
int current_device();
void set_device(int index);
int device_count();
const cudaDeviceProp *device_properties(int index);
void *raw_allocate(size_t bytes);
void raw_free(void *data);
}  // namespace evo

namespace c10 {

class Stream {};

/* Memory of the device with one owner, as the caching allocator hands it out. */
class DataPtr {
  public:
    explicit DataPtr(void *data = nullptr) : data_(data) {}
    DataPtr(DataPtr &&other) noexcept : data_(other.data_) { other.data_ = nullptr; }
    DataPtr &operator=(DataPtr &&other) noexcept {
        std::swap(data_, other.data_);
        return *this;
    }
    ~DataPtr() {
        if (data_) ::evo::raw_free(data_);
    }
    void *get() const { return data_; }
    void *mutable_get() const { return data_; }
    explicit operator bool() const { return data_ != nullptr; }
    Device device() const { return Device(kCUDA, static_cast<DeviceIndex>(::evo::current_device())); }

  private:
    void *data_;
};
struct Allocator {
    DataPtr allocate(size_t bytes) { return DataPtr(::evo::raw_allocate(bytes)); }
    void *raw_allocate(size_t bytes) { return ::evo::raw_allocate(bytes); }
    void raw_deallocate(void *data) { ::evo::raw_free(data); }
};

namespace cuda {

class CUDAStream {
  public:
    explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
    operator cudaStream_t() const { return stream_; }
    cudaStream_t stream() const { return stream_; }
    int64_t id() const { return reinterpret_cast<int64_t>(stream_); }
    DeviceIndex device_index() const { return static_cast<DeviceIndex>(::evo::current_device()); }
    DeviceType device_type() const { return kCUDA; }
    Device device() const { return Device(kCUDA, device_index()); }
    CUDAStream unwrap() const { return *this; }
    bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
    void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }
    bool operator==(const CUDAStream &other) const { return stream_ == other.stream_; }
    bool operator!=(const CUDAStream &other) const { return stream_ != other.stream_; }

  private:
    cudaStream_t stream_;
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex = -1) { return CUDAStream(::evo::current_stream()); }
inline CUDAStream getDefaultCUDAStream(DeviceIndex = -1) { return CUDAStream(nullptr); }
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1) { return CUDAStream(::evo::stream_from_pool()); }
inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex) { return CUDAStream(stream); }
inline void setCurrentCUDAStream(CUDAStream stream) { ::evo::set_current_stream(stream.stream()); }
inline DeviceIndex current_device() { return static_cast<DeviceIndex>(::evo::current_device()); }
inline DeviceIndex device_count() { return static_cast<DeviceIndex>(::evo::device_count()); }
inline void set_device(DeviceIndex index) { ::evo::set_device(index); }
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }
inline void stream_synchronize(cudaStream_t stream) { C10_CUDA_CHECK(cudaStreamSynchronize(stream)); }
inline int warp_size() { return 32; }

class CUDAGuard {
  public:
    explicit CUDAGuard(DeviceIndex index) : CUDAGuard(Device(kCUDA, index)) {}
    explicit CUDAGuard(Device device) : original_(::evo::current_device()), current_(original_) { set_device(device); }
    CUDAGuard(const CUDAGuard &) = delete;
    CUDAGuard &operator=(const CUDAGuard &) = delete;
    ~CUDAGuard() {
        if (current_ != original_) (void)cudaSetDevice(original_);
    }
    void set_device(Device device) {
        if (!device.is_cuda()) ::evo::fail_check("", "CUDAGuard needs a CUDA device, got ", device);
        set_index(device.index());
    }
    void reset_device(Device device) { set_device(device); }
    void set_index(DeviceIndex index) {
        if (index >= 0 && index != current_) {
            ::evo::set_device(index);
            current_ = index;
        }
    }
    Device original_device() const { return Device(kCUDA, static_cast<DeviceIndex>(original_)); }
    Device current_device() const { return Device(kCUDA, static_cast<DeviceIndex>(current_)); }

  private:
    int original_;
    int current_;
};

class OptionalCUDAGuard {
  public:
    OptionalCUDAGuard() : original_(::evo::current_device()) {}
    explicit OptionalCUDAGuard(Device device) : OptionalCUDAGuard() { set_device(device); }
    explicit OptionalCUDAGuard(DeviceIndex index) : OptionalCUDAGuard() { set_index(index); }
#ifdef EVO_WITH_OPTIONAL
    explicit OptionalCUDAGuard(std::optional<Device> device) : OptionalCUDAGuard() {
        if (device) set_device(*device);
    }
#endif
    OptionalCUDAGuard(const OptionalCUDAGuard &) = delete;
    OptionalCUDAGuard &operator=(const OptionalCUDAGuard &) = delete;
    ~OptionalCUDAGuard() { reset(); }
    void set_device(Device device) {
        if (device.is_cuda()) set_index(device.index());
    }
    void set_index(DeviceIndex index) {
        if (index >= 0) ::evo::set_device(index);
    }
    void reset() {
        if (::evo::current_device() != original_) (void)cudaSetDevice(original_);
    }

  private:
    int original_;
};

class CUDAStreamGuard {
  public:
    explicit CUDAStreamGuard(CUDAStream stream) : original_(::evo::current_stream()), current_(stream) {
        ::evo::set_current_stream(stream.stream());
    }
    CUDAStreamGuard(const CUDAStreamGuard &) = delete;
    CUDAStreamGuard &operator=(const CUDAStreamGuard &) = delete;
    ~CUDAStreamGuard() { ::evo::set_current_stream(original_); }
    void reset_stream(CUDAStream stream) {
        current_ = stream;
        ::evo::set_current_stream(stream.stream());
    }
    CUDAStream original_stream() const { return CUDAStream(original_); }
    CUDAStream current_stream() const { return current_; }

  private:
    cudaStream_t original_;
    CUDAStream current_;
};

namespace CUDACachingAllocator {
inline void *raw_alloc(size_t bytes) { return ::evo::raw_allocate(bytes); }
inline void *raw_alloc_with_stream(size_t bytes, cudaStream_t) { return ::evo::raw_allocate(bytes); }
inline void raw_delete(void *data) { ::evo::raw_free(data); }
inline void emptyCache() {}
template <typename Data>
void recordStream(const Data &, CUDAStream) {}
inline Allocator *get() {
    static Allocator allocator;
    return &allocator;
}
}  // namespace CUDACachingAllocator

}  // namespace cuda

struct DeviceGuard {
    explicit DeviceGuard(Device device) : guard(device) {}
    void set_index(DeviceIndex index) { guard.set_index(index); }
    void reset_device(Device device) { guard.set_device(device); }
    cuda::OptionalCUDAGuard guard;
};
struct OptionalDeviceGuard {
    OptionalDeviceGuard() {}
    explicit OptionalDeviceGuard(Device device) : guard(device) {}
#ifdef EVO_WITH_OPTIONAL
    explicit OptionalDeviceGuard(std::optional<Device> device) : guard(device) {}
#endif
    cuda::OptionalCUDAGuard guard;
};
struct InferenceMode {
    explicit InferenceMode(bool = true) {}
    ~InferenceMode() {}
};
}  // namespace c10

namespace at {

#ifdef EVO_WITH_OPTIONAL
inline std::optional<Device> device_of(const Tensor &tensor) {
    return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}
#else
inline Device device_of(const Tensor &tensor) { return tensor.device(); }
#endif

/* The switches of PyTorch that a kernel may ask for, as they are unless somebody turns them. */
struct Context {
    bool deterministicAlgorithms() const { return false; }
    bool deterministicFillUninitializedMemory() const { return false; }
    bool allowTF32CuBLAS() const { return false; }
    void alertNotDeterministic(const char *) const {}
    void lazyInitCUDA() const {}
    bool hasCUDA() const { return true; }
};
inline Context &globalContext() {
    static Context context;
    return context;
}

namespace cuda {
using namespace c10::cuda;
inline c10::Allocator *getCUDADeviceAllocator() { return CUDACachingAllocator::get(); }
inline bool is_available() { return ::evo::device_count() > 0; }
inline int64_t getNumGPUs() { return ::evo::device_count(); }
inline bool canDeviceAccessPeer(DeviceIndex, DeviceIndex) { return false; }
inline cudaDeviceProp *getCurrentDeviceProperties() {
    return const_cast<cudaDeviceProp *>(::evo::device_properties(::evo::current_device()));
}
inline cudaDeviceProp *getDeviceProperties(int64_t device) {
    return const_cast<cudaDeviceProp *>(::evo::device_properties(static_cast<int>(device)));
}
template <typename T>
C10_HOST_DEVICE constexpr T ATenCeilDiv(T a, T b) {
    return (a + b - 1) / b;
}

class CUDAEvent {
  public:
    explicit CUDAEvent(unsigned flags = cudaEventDisableTiming) { C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags)); }
    CUDAEvent(const CUDAEvent &) = delete;
    CUDAEvent &operator=(const CUDAEvent &) = delete;
    ~CUDAEvent() { (void)cudaEventDestroy(event_); }
    operator cudaEvent_t() const { return event_; }
    cudaEvent_t event() const { return event_; }
    void record() { record(getCurrentCUDAStream()); }
    void record(const CUDAStream &stream) { C10_CUDA_CHECK(cudaEventRecord(event_, stream.stream())); }
    void block(const CUDAStream &stream) { C10_CUDA_CHECK(cudaStreamWaitEvent(stream.stream(), event_, 0)); }
    void synchronize() const { C10_CUDA_CHECK(cudaEventSynchronize(event_)); }
    bool query() const { return cudaEventQuery(event_) == cudaSuccess; }
    float elapsed_time(const CUDAEvent &other) const {
        float milliseconds = 0;
        C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, other.event_));
        return milliseconds;
    }

  private:
    cudaEvent_t event_;
};
}  // namespace cuda
}  // namespace at

namespace torch {
namespace cuda {
inline bool is_available() { return ::evo::device_count() > 0; }
inline size_t device_count() { return static_cast<size_t>(::evo::device_count()); }
inline void synchronize(int64_t = -1) { c10::cuda::device_synchronize(); }
}  // namespace cuda
}  // namespace torch
