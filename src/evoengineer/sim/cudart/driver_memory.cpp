// The CUDA driver API: memory, streams and events, as thin forms of the runtime's functions.
#include <string.h>

#include "arrays.h"
#include "driver.h"

extern "C" {
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaMallocPitch(void**, size_t*, size_t, size_t);
cudaError_t cudaMallocManaged(void**, size_t, unsigned);
cudaError_t cudaMallocAsync(void**, size_t, cudaStream_t);
cudaError_t cudaFreeAsync(void*, cudaStream_t);
cudaError_t cudaFree(void*);
cudaError_t cudaHostAlloc(void**, size_t, unsigned);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaHostRegister(void*, size_t, unsigned);
cudaError_t cudaHostUnregister(void*);
cudaError_t cudaHostGetDevicePointer(void**, void*, unsigned);
cudaError_t cudaMemGetInfo(size_t*, size_t*);
cudaError_t cudaMemcpy(void*, const void*, size_t, int);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, int, cudaStream_t);
cudaError_t cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, int);
cudaError_t cudaMemcpy2DAsync(void*, size_t, const void*, size_t, size_t, size_t, int, cudaStream_t);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned, int);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaStreamAddCallback(cudaStream_t, cudaStreamCallback_t, void*, unsigned);
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t);
}

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// CUDA_MEMCPY2D. Memory types: 1 host, 2 device, 3 array, 4 unified.
struct Side2D { size_t x_bytes, y; int type; const void* host; CUdeviceptr device; cudaArray_t array; size_t pitch; };
struct Copy2D { Side2D source, target; size_t width, height; };

Side side_of(const Side2D& s) {
    if (s.type == 3) return side_of(s.array, s.x_bytes, s.y, 0);
    uint64_t base = s.type == 1 ? reinterpret_cast<uint64_t>(s.host) : s.device;
    return {base + s.y * s.pitch + s.x_bytes, s.pitch, 0};
}

CUresult copy(const Copy2D* c, CUstream stream, bool wait) {
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    Side target = side_of(c->target), source = side_of(c->source);
    size_t target_pitch = target.pitch ? target.pitch : c->width, source_pitch = source.pitch ? source.pitch : c->width;
    void* to = pointer(target.address);
    const void* from = pointer(source.address);
    return result_of(wait ? cudaMemcpy2D(to, target_pitch, from, source_pitch, c->width, c->height, cudaMemcpyDefault)
                          : cudaMemcpy2DAsync(to, target_pitch, from, source_pitch, c->width, c->height,
                                              cudaMemcpyDefault, stream));
}

CUresult fill(CUdeviceptr address, size_t pitch, unsigned value, unsigned element, size_t width, size_t height,
              CUstream stream) {
    ENTER_DRIVER();
    Work work;
    work.kind = WorkKind::kSet;
    work.set = {address, pitch, width, height, value, element};
    if (address % element) return CUDA_ERROR_INVALID_VALUE;
    if (int status = check_set(work.set)) return result_of(status);
    return result_of(enqueue(stream, work));
}

}  // namespace

API CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    return result_of(cudaMalloc(reinterpret_cast<void**>(address), bytes));
}

API CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned) {
    return result_of(cudaMallocPitch(reinterpret_cast<void**>(address), pitch, width, height));
}

API CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
    return result_of(cudaMallocManaged(reinterpret_cast<void**>(address), bytes, flags));
}

API CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    return result_of(cudaMallocAsync(reinterpret_cast<void**>(address), bytes, stream));
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return result_of(cudaFreeAsync(pointer(address), stream));
}

API CUresult cuMemFree_v2(CUdeviceptr address) { return result_of(cudaFree(pointer(address))); }
API CUresult cuMemAllocHost_v2(void** address, size_t bytes) { return result_of(cudaHostAlloc(address, bytes, 0)); }
API CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
    return result_of(cudaHostAlloc(address, bytes, flags));
}
API CUresult cuMemFreeHost(void* address) { return result_of(cudaFreeHost(address)); }
API CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
    return result_of(cudaHostRegister(address, bytes, flags));
}
API CUresult cuMemHostUnregister(void* address) { return result_of(cudaHostUnregister(address)); }
API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned flags) {
    return result_of(cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags));
}
API CUresult cuMemGetInfo_v2(size_t* free, size_t* total) { return result_of(cudaMemGetInfo(free, total)); }

API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    ENTER_DRIVER();
    uint64_t start;
    const Allocation* a = find_allocation(address, &start);
    if (!a) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = start;
    if (bytes) *bytes = a->bytes;
    return cudaSuccess;
}

API CUresult cuPointerGetAttribute(void* data, int attribute, CUdeviceptr address) {
    ENTER_DRIVER();
    Place place;
    if (!locate(pointer(address), &place) || place.where == Where::kPageable) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case 2: *static_cast<int*>(data) = place.where == Where::kDevice || place.managed ? 2 : 1; return cudaSuccess;
    case 3: *static_cast<CUdeviceptr*>(data) = place.device_address; return cudaSuccess;
    case 4: *static_cast<CUdeviceptr*>(data) = address; return cudaSuccess;
    case 8: *static_cast<int*>(data) = place.managed; return cudaSuccess;
    case 9: *static_cast<int*>(data) = 0; return cudaSuccess;
    default: return cudaErrorNotSupported;
    }
}

API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return result_of(cudaMemcpy(pointer(to), from, bytes, cudaMemcpyHostToDevice));
}
API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return result_of(cudaMemcpy(to, pointer(from), bytes, cudaMemcpyDeviceToHost));
}
API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return result_of(cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice));
}
API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return result_of(cudaMemcpy(pointer(to), pointer(from), bytes, cudaMemcpyDefault));
}
API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream));
}
API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream));
}
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDeviceToDevice, stream));
}
API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return result_of(cudaMemcpyAsync(pointer(to), pointer(from), bytes, cudaMemcpyDefault, stream));
}
API CUresult cuMemcpy2D_v2(const Copy2D* c) { return copy(c, nullptr, true); }
API CUresult cuMemcpy2DUnaligned_v2(const Copy2D* c) { return copy(c, nullptr, true); }
API CUresult cuMemcpy2DAsync_v2(const Copy2D* c, CUstream stream) { return copy(c, stream, false); }

#define FILL(name, type, element)                                                                        \
    API CUresult name##_v2(CUdeviceptr to, type value, size_t count) {                                   \
        return fill(to, count * element, value, element, count, 1, nullptr);                             \
    }                                                                                                    \
    API CUresult name##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {                \
        return fill(to, count * element, value, element, count, 1, stream);                              \
    }
FILL(cuMemsetD8, unsigned char, 1)
FILL(cuMemsetD16, unsigned short, 2)
FILL(cuMemsetD32, unsigned, 4)
#undef FILL

#define FILL_2D(name, type, element)                                                                     \
    API CUresult name##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) {      \
        return fill(to, pitch, value, element, width, height, nullptr);                                  \
    }                                                                                                    \
    API CUresult name##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height,      \
                             CUstream stream) {                                                          \
        return fill(to, pitch, value, element, width, height, stream);                                   \
    }
FILL_2D(cuMemsetD2D8, unsigned char, 1)
FILL_2D(cuMemsetD2D16, unsigned short, 2)
FILL_2D(cuMemsetD2D32, unsigned, 4)
#undef FILL_2D

API CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return result_of(cudaStreamCreateWithFlags(stream, flags));
}
API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return result_of(cudaStreamCreateWithPriority(stream, flags, priority));
}
API CUresult cuStreamDestroy_v2(CUstream stream) { return result_of(cudaStreamDestroy(stream)); }
API CUresult cuStreamSynchronize(CUstream stream) { return result_of(cudaStreamSynchronize(stream)); }
API CUresult cuStreamQuery(CUstream stream) { return result_of(cudaStreamQuery(stream)); }
API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return result_of(cudaStreamWaitEvent(stream, event, flags));
}
API CUresult cuStreamAddCallback(CUstream stream, cudaStreamCallback_t function, void* data, unsigned flags) {
    return result_of(cudaStreamAddCallback(stream, function, data, flags));
}
API CUresult cuLaunchHostFunc(CUstream stream, cudaHostFn_t function, void* data) {
    return result_of(cudaLaunchHostFunc(stream, function, data));
}

API CUresult cuEventCreate(CUevent* event, unsigned flags) { return result_of(cudaEventCreateWithFlags(event, flags)); }
API CUresult cuEventRecord(CUevent event, CUstream stream) { return result_of(cudaEventRecord(event, stream)); }
API CUresult cuEventSynchronize(CUevent event) { return result_of(cudaEventSynchronize(event)); }
API CUresult cuEventQuery(CUevent event) { return result_of(cudaEventQuery(event)); }
API CUresult cuEventDestroy_v2(CUevent event) { return result_of(cudaEventDestroy(event)); }
API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    return result_of(cudaEventElapsedTime(milliseconds, start, end));
}
ALSO(cuEventElapsedTime, cuEventElapsedTime_v2)
