/* The host, streams and devices. */
#include "support.h"

namespace evo {
namespace {
const EvoHost *the_host = nullptr;
thread_local bool stream_chosen = false;
thread_local cudaStream_t chosen_stream = nullptr;
}  // namespace

const EvoHost &host() {
    if (!the_host)
        fail(EVO_ERROR_UNSUPPORTED, 0, "tensors cannot be used before the module is opened (in a static constructor)");
    return *the_host;
}
void set_host(const EvoHost *host) { the_host = host; }

cudaStream_t current_stream() { return stream_chosen ? chosen_stream : static_cast<cudaStream_t>(host().stream); }

void set_current_stream(cudaStream_t stream) {
    stream_chosen = stream != static_cast<cudaStream_t>(host().stream);
    chosen_stream = stream;
}

cudaStream_t stream_from_pool() {
    static thread_local cudaStream_t pool[8] = {};
    static thread_local unsigned next = 0;
    cudaStream_t &stream = pool[next++ % 8];
    if (!stream) C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

int current_device() {
    int index = 0;
    C10_CUDA_CHECK(cudaGetDevice(&index));
    return index;
}
void set_device(int index) { C10_CUDA_CHECK(cudaSetDevice(index)); }
int device_count() {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

const cudaDeviceProp *device_properties(int index) {
    static thread_local cudaDeviceProp properties;
    static thread_local int held = -1;
    if (held != index) {
        C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
        held = index;
    }
    return &properties;
}

}  // namespace evo
