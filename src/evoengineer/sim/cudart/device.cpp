// The device: properties, attributes, limits, versions, and questions about (absent) peers.
#include <stdio.h>
#include <string.h>

#include "arrays.h"
#include "memory.h"
#include "modules.h"
#include "streams.h"

namespace {

constexpr int kVersion = EVO_CUDART_MAJOR * 1000;
unsigned device_flags = 0;
std::map<int, size_t>& limits() {
    static auto* values = new std::map<int, size_t>{
        {0, 1024}, {1, 1 << 20}, {2, 8 << 20}, {3, 2}, {4, 2048}, {5, 64}, {6, 0}};
    return *values;
}

int check_device(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

}  // namespace

API cudaError_t cudaGetDeviceCount(int* count) {
    Entry entry(Entry::kEvenIfPoisoned);
    if (count) *count = entry.status ? 0 : 1;
    return done(entry.status);
}

API cudaError_t cudaGetDevice(int* device) {
    ENTER();
    *device = 0;
    return cudaSuccess;
}

API cudaError_t cudaSetDevice(int device) {
    ENTER();
    return done(check_device(device));
}

API cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }

API cudaError_t cudaSetValidDevices(int* devices, int count) {
    ENTER();
    for (int i = 0; i < count; ++i)
        if (int status = check_device(devices[i])) return done(status);
    return cudaSuccess;
}

API cudaError_t cudaChooseDevice(int* device, const void*) { return cudaGetDevice(device); }

API cudaError_t cudaGetDeviceProperties(void* properties, int device) {
    ENTER();
    if (!properties || device) return done(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    const std::vector<uint8_t>& bytes = device_info().properties;
    memcpy(properties, bytes.data(), bytes.size());
    return cudaSuccess;
}
API decltype(cudaGetDeviceProperties) cudaGetDeviceProperties_v2 __attribute__((alias("cudaGetDeviceProperties")));

API cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {
    ENTER();
    if (int status = check_device(device)) return done(status);
    if (!value || attribute <= 0 || size_t(attribute) >= device_info().attributes.size())
        return done(cudaErrorInvalidValue);
    *value = device_info().attribute(attribute);
    return cudaSuccess;
}

API cudaError_t cudaSetDeviceFlags(unsigned flags) {
    ENTER();
    device_flags = flags;
    return cudaSuccess;
}

API cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    ENTER();
    *flags = device_flags | 8;  // cudaDeviceMapHost always holds
    return cudaSuccess;
}

API cudaError_t cudaDeviceReset() {
    Entry entry(Entry::kEvenIfPoisoned);
    if (entry.status) return done(entry.status);
    forget_loaded_modules();
    forget_all_memory();
    forget_streams();
    int status = call(kReset, nullptr, 0);
    if (!status) clear_last_error();
    return done(status);
}

API cudaError_t cudaThreadExit() { return cudaDeviceReset(); }

API cudaError_t cudaDeviceSetLimit(int limit, size_t value) {
    ENTER();
    if (!limits().count(limit)) return done(cudaErrorUnsupportedLimit);
    limits()[limit] = value;
    return done(call(kSetLimit, LimitBody{uint32_t(limit), 0, value}));
}

API cudaError_t cudaDeviceGetLimit(size_t* value, int limit) {
    ENTER();
    auto found = limits().find(limit);
    if (!value || found == limits().end()) return done(value ? cudaErrorUnsupportedLimit : cudaErrorInvalidValue);
    *value = found->second;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSetCacheConfig(int) {
    ENTER();
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetCacheConfig(int* config) {
    ENTER();
    *config = 0;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSetSharedMemConfig(int) {
    ENTER();
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetSharedMemConfig(int* config) {
    ENTER();
    *config = 1;  // four-byte banks
    return cudaSuccess;
}

API cudaError_t cudaCtxResetPersistingL2Cache() {
    ENTER();
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
    ENTER();
    if (int status = check_device(device)) return done(status);
    if (!text || bytes < 13) return done(cudaErrorInvalidValue);
    snprintf(text, bytes, "0000:01:00.0");
    return cudaSuccess;
}

API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
    ENTER();
    if (!device || !text || !strstr(text, "01:00.0")) return done(cudaErrorInvalidDevice);
    *device = 0;
    return cudaSuccess;
}

API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    ENTER();
    if (int status = check_device(device | peer)) return done(status);
    *can = 0;  // a device is no peer of itself
    return cudaSuccess;
}

API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
    ENTER();
    return done(cudaErrorInvalidDevice);
}

API cudaError_t cudaDeviceDisablePeerAccess(int) {
    ENTER();
    return done(cudaErrorPeerAccessNotEnabled);
}

API cudaError_t cudaDeviceGetP2PAttribute(int* value, int, int from, int to) {
    ENTER();
    if (int status = check_device(from | to)) return done(status);
    *value = 0;
    return done(cudaErrorInvalidDevice);
}

API cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = kVersion;
    return cudaSuccess;
}

API cudaError_t cudaDriverGetVersion(int* version) {
    *version = kVersion;
    return cudaSuccess;
}

API cudaError_t cudaProfilerStart() { return cudaSuccess; }
API cudaError_t cudaProfilerStop() { return cudaSuccess; }

API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* desc, int device) {
    ENTER();
    if (int status = check_device(device)) return done(status);
    size_t bits = desc ? desc->x + desc->y + desc->z + desc->w : 0;
    if (!width || !bits) return done(cudaErrorInvalidValue);
    *width = size_t(device_info().attribute(69));
    return cudaSuccess;
}
