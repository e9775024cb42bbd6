// The CUDA driver API: device, contexts, modules, launches. One device, one real context: contexts
// that a program creates are handles that share it.
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "operations.h"

struct Context { unsigned flags; };

extern "C" {
cudaError_t cudaDeviceGetAttribute(int*, int, int);
cudaError_t cudaDeviceReset();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceSetLimit(int, size_t);
cudaError_t cudaDeviceGetLimit(size_t*, int);
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*);
cudaError_t cudaFuncSetAttribute(const void*, int, int);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int*, const void*, int, size_t, unsigned);
const char* cudaGetErrorString(cudaError_t);
}

namespace {

Context primary{0};
thread_local std::vector<CUcontext> contexts;

struct ErrorName { int code; const char* name; };
constexpr ErrorName kNames[] = {
#include "driver_error_table.h"
};

Module* load_copy(const void* data) {
    Image image = image_of(data);
    Module* module = add_module({});
    module->owned.assign(image.data, image.data + image.bytes);  // the caller may free its copy
    module->images = {{module->owned.data(), image.bytes}};
    return module;
}

int load_module(CUmodule* result, const void* data) {
    if (!result || !data) return CUDA_ERROR_INVALID_VALUE;
    Module* module = load_copy(data);
    if (int status = load(module)) {
        remove_module(module);
        return status;
    }
    *result = module;
    return cudaSuccess;
}

bool read_file(const char* path, std::vector<uint8_t>* data) {
    FILE* file = path ? fopen(path, "rb") : nullptr;
    if (!file) return false;
    uint8_t part[65536];
    while (size_t n = fread(part, 1, sizeof part, file)) data->insert(data->end(), part, part + n);
    fclose(file);
    data->push_back(0);  // ends PTX text
    return true;
}

}  // namespace

API CUresult cuInit(unsigned flags) {
    ENTER_DRIVER();
    return flags ? CUDA_ERROR_INVALID_VALUE : cudaSuccess;
}

API CUresult cuDriverGetVersion(int* version) {
    *version = EVO_CUDART_MAJOR * 1000;
    return cudaSuccess;
}

API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    ENTER_DRIVER();
    if (ordinal) return cudaErrorInvalidDevice;
    *device = 0;
    return cudaSuccess;
}

API CUresult cuDeviceGetCount(int* count) {
    ENTER_DRIVER();
    *count = 1;
    return cudaSuccess;
}

API CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
    ENTER_DRIVER();
    snprintf(name, bytes, "%s", reinterpret_cast<const char*>(device_info().properties.data()));
    return cudaSuccess;
}

API CUresult cuDeviceGetUuid(void* uuid, CUdevice) {
    ENTER_DRIVER();
    memcpy(uuid, device_info().properties.data() + 256, 16);
    return cudaSuccess;
}
ALSO(cuDeviceGetUuid, cuDeviceGetUuid_v2)

API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
    ENTER_DRIVER();
    *bytes = device_info().layout.total_memory;
    return cudaSuccess;
}

API CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
    return result_of(cudaDeviceGetAttribute(value, attribute, device));
}

API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice) {
    ENTER_DRIVER();
    *major = device_info().attribute(75);
    *minor = device_info().attribute(76);
    return cudaSuccess;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    ENTER_DRIVER();
    *context = &primary;
    return cudaSuccess;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return cudaSuccess; }
API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned) { return cudaSuccess; }
API CUresult cuDevicePrimaryCtxReset_v2(CUdevice) { return result_of(cudaDeviceReset()); }

API CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
    *flags = 0;
    *active = 1;
    return cudaSuccess;
}

API CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
    ENTER_DRIVER();
    if (!context || device) return context ? cudaErrorInvalidDevice : CUDA_ERROR_INVALID_VALUE;
    *context = new Context{flags};
    contexts.push_back(*context);
    return cudaSuccess;
}

API CUresult cuCtxCreate_v4(CUcontext* context, void*, unsigned flags, CUdevice device) {
    return cuCtxCreate_v2(context, flags, device);
}

API CUresult cuCtxCreate_v3(CUcontext* context, void*, int, unsigned flags, CUdevice device) {
    return cuCtxCreate_v2(context, flags, device);
}

API CUresult cuCtxDestroy_v2(CUcontext context) {
    ENTER_DRIVER();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!contexts.empty() && contexts.back() == context) contexts.pop_back();
    if (context != &primary) delete context;
    return synchronize();
}

API CUresult cuCtxPushCurrent_v2(CUcontext context) {
    contexts.push_back(context);
    return cudaSuccess;
}

API CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = contexts.back();
    contexts.pop_back();
    return cudaSuccess;
}

API CUresult cuCtxSetCurrent(CUcontext context) {
    if (!contexts.empty()) contexts.pop_back();
    if (context) contexts.push_back(context);
    return cudaSuccess;
}

API CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = contexts.empty() ? nullptr : contexts.back();
    return cudaSuccess;
}

API CUresult cuCtxGetDevice(CUdevice* device) {
    ENTER_DRIVER();
    *device = 0;
    return cudaSuccess;
}

API CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
    *version = EVO_CUDART_MAJOR * 1000;
    return cudaSuccess;
}

API CUresult cuCtxGetFlags(unsigned* flags) {
    *flags = contexts.empty() ? 0 : contexts.back()->flags;
    return cudaSuccess;
}

API CUresult cuCtxSynchronize() { return result_of(cudaDeviceSynchronize()); }
API CUresult cuCtxSetLimit(int limit, size_t value) { return result_of(cudaDeviceSetLimit(limit, value)); }
API CUresult cuCtxGetLimit(size_t* value, int limit) { return result_of(cudaDeviceGetLimit(value, limit)); }
API CUresult cuCtxSetCacheConfig(int) { return cudaSuccess; }
API CUresult cuCtxSetSharedMemConfig(int) { return cudaSuccess; }

API CUresult cuModuleLoadData(CUmodule* module, const void* data) {
    ENTER_DRIVER();
    return result_of(load_module(module, data));
}

API CUresult cuModuleLoadDataEx(CUmodule* module, const void* data, unsigned, int*, void**) {
    return cuModuleLoadData(module, data);  // options of NVIDIA's JIT compiler mean nothing here
}

API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* data) { return cuModuleLoadData(module, data); }

API CUresult cuModuleLoad(CUmodule* module, const char* path) {
    std::vector<uint8_t> data;
    if (!read_file(path, &data)) return cudaErrorFileNotFound;
    return cuModuleLoadData(module, data.data());
}

API CUresult cuModuleUnload(CUmodule module) {
    ENTER_DRIVER();
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    remove_module(module);
    return cudaSuccess;
}

API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    ENTER_DRIVER();
    if (!function || !module || !name) return CUDA_ERROR_INVALID_VALUE;
    auto found = module->kernels.find(name);
    if (found == module->kernels.end() || resolve(found->second.get())) return CUDA_ERROR_NOT_FOUND;
    *function = found->second.get();
    return cudaSuccess;
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
    ENTER_DRIVER();
    auto found = module->variables.find(name);
    if (found == module->variables.end()) return CUDA_ERROR_NOT_FOUND;
    if (address) *address = found->second.address;
    if (bytes) *bytes = found->second.bytes;
    return cudaSuccess;
}

API CUresult cuModuleGetLoadingMode(int* mode) {
    *mode = 2;  // lazy
    return cudaSuccess;
}

API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
    *module = function->module;
    return cudaSuccess;
}

API CUresult cuFuncGetName(const char** name, CUfunction function) {
    *name = function->name.c_str();
    return cudaSuccess;
}

API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                            unsigned bz, unsigned shared_bytes, CUstream stream, void** arguments, void** extra) {
    ENTER_DRIVER();
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (arguments || !extra) {
        void* none[1] = {nullptr};
        return result_of(cudaLaunchKernel(function, {gx, gy, gz}, {bx, by, bz}, arguments ? arguments : none,
                                          shared_bytes, stream));
    }
    // A packed parameter buffer: point at its pieces.
    Bytes packed;
    int status;
    if (!find_kernel(function, &status)) return result_of(status);
    pack_params(function, nullptr, extra, &packed);
    std::vector<void*> pieces;
    for (auto [offset, bytes] : function->params) pieces.push_back(&packed[offset]);
    return result_of(cudaLaunchKernel(function, {gx, gy, gz}, {bx, by, bz}, pieces.data(), shared_bytes, stream));
}

API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                       unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                                       void** arguments) {
    return result_of(
        cudaLaunchCooperativeKernel(function, {gx, gy, gz}, {bx, by, bz}, arguments, shared_bytes, stream));
}

API CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
    cudaFuncAttributes a;
    if (int status = cudaFuncGetAttributes(&a, function)) return result_of(status);
    // By CUfunction_attribute.
    const int values[] = {a.maxThreadsPerBlock, int(a.sharedSizeBytes), int(a.constSizeBytes), int(a.localSizeBytes),
                          a.numRegs, a.ptxVersion, a.binaryVersion, a.cacheModeCA, a.maxDynamicSharedSizeBytes,
                          a.preferredShmemCarveout};
    if (attribute < 0 || attribute > 9) return CUDA_ERROR_INVALID_VALUE;
    *value = values[attribute];
    return cudaSuccess;
}

API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    return result_of(cudaFuncSetAttribute(function, attribute, value));
}

API CUresult cuFuncSetCacheConfig(CUfunction, int) { return cudaSuccess; }
API CUresult cuFuncSetSharedMemConfig(CUfunction, int) { return cudaSuccess; }

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t shared) {
    return result_of(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0));
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                                  size_t shared, unsigned) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

API CUresult cuGetErrorName(CUresult error, const char** name) {
    for (const ErrorName& e : kNames)
        if (e.code == error) return *name = e.name, cudaSuccess;
    *name = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGetErrorString(CUresult error, const char** text) {
    const char* name;
    if (cuGetErrorName(error, &name)) return *text = nullptr, CUDA_ERROR_INVALID_VALUE;
    *text = cudaGetErrorString(error);
    return cudaSuccess;
}

// Looks a function up in this library, the newest version first.
static void* entry_point(const char* symbol) {
    Dl_info here;
    if (!dladdr(reinterpret_cast<void*>(entry_point), &here)) return nullptr;
    void* library = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void* found = nullptr;
    for (const char* suffix : {"_v4", "_v3", "_v2", ""})
        if (library && !found) found = dlsym(library, (std::string(symbol) + suffix).c_str());
    if (library) dlclose(library);
    return found;
}

API CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, uint64_t, int* status) {
    *function = entry_point(symbol);
    if (status) *status = *function ? 0 : 1;
    return *function ? cudaSuccess : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                                 int* status) {
    ENTER();
    if (!symbol || !function) return done(cudaErrorInvalidValue);
    *function = entry_point(symbol);
    if (status) *status = *function ? 0 : 1;
    return cudaSuccess;
}
PER_THREAD(cudaGetDriverEntryPointByVersion)

API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status) {
    return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, status);
}
PER_THREAD(cudaGetDriverEntryPoint)
