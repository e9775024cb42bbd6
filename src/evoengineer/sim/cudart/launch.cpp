// Kernel launches and the attributes of kernels. What CUDA reports at the launch itself is checked
// here, so that a good launch need not wait for the device.
#include <string.h>

#include <algorithm>

#include "operations.h"
#include "streams.h"

namespace {

// Values of cudaDeviceAttr.
enum : int {
    kMaxThreadsPerBlock = 1, kMaxBlockDimX = 2, kMaxGridDimX = 5, kMaxSharedPerBlock = 8,
    kMultiprocessors = 16, kMajor = 75, kMinor = 76, kMaxSharedOptin = 97,
};
// Values of cudaLaunchAttributeID.
enum : int { kAttributeCooperative = 2, kAttributeClusterDimension = 4 };

struct Configuration { dim3 grid, block; size_t shared_bytes; cudaStream_t stream; };
thread_local std::vector<Configuration> configurations;

uint64_t volume(const dim3& d) { return uint64_t(d.x) * d.y * d.z; }

bool within(const dim3& d, int first_attribute) {
    const DeviceInfo& info = device_info();
    const unsigned sizes[3] = {d.x, d.y, d.z};
    for (int i = 0; i < 3; ++i)
        if (sizes[i] == 0 || sizes[i] > unsigned(info.attribute(first_attribute + i))) return false;
    return true;
}

int dynamic_shared_limit(const Kernel* kernel) {
    const DeviceInfo& info = device_info();
    if (kernel->max_dynamic_shared >= 0)
        return std::max(kernel->max_dynamic_shared,
                        info.attribute(kMaxSharedPerBlock) - int(kernel->info.static_shared_bytes));
    return info.attribute(kMaxSharedPerBlock) - int(kernel->info.static_shared_bytes);
}

int blocks_per_multiprocessor(const Kernel* kernel, int threads, size_t shared_bytes, int* blocks) {
    OccupancyBody body{kernel->info.kernel, uint32_t(threads), shared_bytes};
    uint32_t result = 0;
    int status = call(kOccupancy, body, &result);
    *blocks = int(result);
    return status;
}

int launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
           cudaStream_t stream, bool cooperative) {
    Work work;
    int status;
    KernelWork& k = work.kernel;
    k.kernel = find_kernel(function, &status);
    if (status) return status;
    work.kind = WorkKind::kKernel;
    k.grid = grid;
    k.block = block;
    k.cooperative = cooperative;
    if (shared_bytes > 0x7fffffff) return cudaErrorInvalidValue;
    k.shared_bytes = uint32_t(shared_bytes);
    if ((status = check_launch(k))) return status;
    if ((status = pack_params(k.kernel, arguments, nullptr, &k.params))) return status;
    return enqueue(stream, work);
}

}  // namespace

int check_launch(const KernelWork& k) {
    const DeviceInfo& info = device_info();
    if (!within(k.grid, kMaxGridDimX) || !within(k.block, kMaxBlockDimX) ||
        volume(k.block) > uint64_t(info.attribute(kMaxThreadsPerBlock)))
        return cudaErrorInvalidConfiguration;
    if (volume(k.block) > k.kernel->info.max_threads) return cudaErrorLaunchOutOfResources;
    if (int(k.shared_bytes) > dynamic_shared_limit(k.kernel)) return cudaErrorInvalidValue;
    if (k.cooperative) {
        int blocks;
        if (int status = blocks_per_multiprocessor(k.kernel, int(volume(k.block)), k.shared_bytes, &blocks))
            return status;
        if (volume(k.grid) > uint64_t(blocks) * info.attribute(kMultiprocessors))
            return cudaErrorCooperativeLaunchTooLarge;
    }
    return cudaSuccess;
}

int pack_params(Kernel* kernel, void** arguments, void** extra, Bytes* params) {
    params->assign(kernel->info.param_bytes, 0);
    if (extra) {  // CU_LAUNCH_PARAM_BUFFER_POINTER (1), CU_LAUNCH_PARAM_BUFFER_SIZE (2), end (0)
        const void* buffer = nullptr;
        size_t bytes = 0;
        for (void** at = extra; *at; at += 2) {
            if (*at == reinterpret_cast<void*>(1)) buffer = at[1];
            if (*at == reinterpret_cast<void*>(2)) bytes = *static_cast<size_t*>(at[1]);
        }
        if (buffer) memcpy(params->data(), buffer, std::min<size_t>(bytes, params->size()));
        return cudaSuccess;
    }
    if (!kernel->params.empty() && !arguments) return cudaErrorInvalidValue;
    for (size_t i = 0; i < kernel->params.size(); ++i) {
        auto [offset, bytes] = kernel->params[i];
        if (!arguments[i]) return cudaErrorInvalidValue;
        memcpy(&(*params)[offset], arguments[i], bytes);
    }
    return cudaSuccess;
}

API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
    configurations.push_back({grid, block, shared_bytes, stream});
    return 0;
}

API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
    if (configurations.empty()) return done(cudaErrorMissingConfiguration);
    Configuration c = configurations.back();
    configurations.pop_back();
    *grid = c.grid;
    *block = c.block;
    *shared_bytes = c.shared_bytes;
    *static_cast<cudaStream_t*>(stream) = c.stream;
    return cudaSuccess;
}

API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                 size_t shared_bytes, cudaStream_t stream) {
    ENTER();
    return done(launch(function, grid, block, arguments, shared_bytes, stream, false));
}
PER_THREAD(cudaLaunchKernel)

API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                   size_t shared_bytes, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
PER_THREAD(__cudaLaunchKernel)

API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                            size_t shared_bytes, cudaStream_t stream) {
    ENTER();
    return done(launch(function, grid, block, arguments, shared_bytes, stream, true));
}
PER_THREAD(cudaLaunchCooperativeKernel)

API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
    ENTER();
    if (!config) return done(cudaErrorInvalidValue);
    bool cooperative = false;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const cudaLaunchAttribute& a = config->attrs[i];
        if (a.id == kAttributeCooperative) cooperative = a.val.cooperative;
        if (a.id == kAttributeClusterDimension &&
            uint64_t(a.val.clusterDim.x) * a.val.clusterDim.y * a.val.clusterDim.z > 1) {
            complain_once("thread block clusters (cudaLaunchAttributeClusterDimension) are not supported by the simulated GPU");
            return done(cudaErrorNotSupported);
        }
    }
    return done(launch(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                       config->stream, cooperative));
}
PER_THREAD(cudaLaunchKernelExC)

API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    ENTER();
    int status;
    Kernel* kernel = find_kernel(function, &status);
    if (!kernel || !attributes) return done(status ? status : cudaErrorInvalidValue);
    const DeviceInfo& info = device_info();
    memset(attributes, 0, sizeof *attributes);
    attributes->sharedSizeBytes = kernel->info.static_shared_bytes;
    attributes->constSizeBytes = kernel->info.const_bytes;
    attributes->localSizeBytes = kernel->info.local_bytes;
    attributes->maxThreadsPerBlock = std::min<int>(kernel->info.max_threads, info.attribute(kMaxThreadsPerBlock));
    attributes->numRegs = kernel->info.registers;
    attributes->ptxVersion = attributes->binaryVersion = info.attribute(kMajor) * 10 + info.attribute(kMinor);
    attributes->maxDynamicSharedSizeBytes = dynamic_shared_limit(kernel);
    attributes->preferredShmemCarveout = kernel->carveout;
    return cudaSuccess;
}

API cudaError_t cudaFuncSetAttribute(const void* function, int attribute, int value) {
    ENTER();
    int status;
    Kernel* kernel = find_kernel(function, &status);
    if (!kernel) return done(status);
    const DeviceInfo& info = device_info();
    if (attribute == 8) {  // cudaFuncAttributeMaxDynamicSharedMemorySize
        if (value < 0 || value + int(kernel->info.static_shared_bytes) > info.attribute(kMaxSharedOptin))
            return done(cudaErrorInvalidValue);
        kernel->max_dynamic_shared = value;
    } else if (attribute == 9) {  // cudaFuncAttributePreferredSharedMemoryCarveout
        if (value < -1 || value > 100) return done(cudaErrorInvalidValue);
        kernel->carveout = value;
    } else if (attribute < 8 || attribute > 15) {
        return done(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, int attribute, int value, int) {
    return cudaFuncSetAttribute(kernel, attribute, value);
}

API cudaError_t cudaFuncSetCacheConfig(const void* function, int) {
    ENTER();
    int status;
    find_kernel(function, &status);
    return done(status);
}

API cudaError_t cudaFuncSetSharedMemConfig(const void* function, int) { return cudaFuncSetCacheConfig(function, 0); }

API cudaError_t cudaFuncGetName(const char** name, const void* function) {
    ENTER();
    int status;
    Kernel* kernel = find_kernel(function, &status);
    if (!kernel || !name) return done(status ? status : cudaErrorInvalidValue);
    *name = kernel->name.c_str();
    return cudaSuccess;
}

API cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
    ENTER();
    int status;
    Kernel* kernel = find_kernel(function, &status);
    if (!kernel) return done(status);
    if (!offset || index >= kernel->params.size()) return done(cudaErrorInvalidValue);
    *offset = kernel->params[index].first;
    if (bytes) *bytes = kernel->params[index].second;
    return cudaSuccess;
}

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                       size_t shared_bytes, unsigned) {
    ENTER();
    int status;
    Kernel* kernel = find_kernel(function, &status);
    if (!kernel) return done(status);
    if (!blocks || threads <= 0) return done(cudaErrorInvalidValue);
    return done(blocks_per_multiprocessor(kernel, threads, shared_bytes, blocks));
}

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                              size_t shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}

API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes, const void* function, int blocks,
                                                          int threads) {
    ENTER();
    int status;
    Kernel* kernel = find_kernel(function, &status);
    if (!kernel) return done(status);
    // The largest amount with which `blocks` blocks still fit, by bisection over the occupancy query.
    size_t low = 0, high = size_t(std::max(0, device_info().attribute(kMaxSharedOptin) -
                                                  int(kernel->info.static_shared_bytes)));
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        int fit;
        if ((status = blocks_per_multiprocessor(kernel, threads, middle, &fit))) return done(status);
        if (fit >= blocks) low = middle;
        else high = middle - 1;
    }
    *shared_bytes = low;
    return cudaSuccess;
}
