// Copying an array on the card: cudaMemcpyAsync, a thread per unit, and a thread per 8 bytes, the latter also with twice
// as many threads as have work. Blocks of 1024 threads. SIZES are the number of units and the bytes of a unit.
#include <cstdint>

#include "common.h"

constexpr unsigned kThreads = 1024;

template <class T>
__global__ void units(T* __restrict__ out, const T* __restrict__ in, size_t n) {
    const size_t first = blockDim.x * blockIdx.x + threadIdx.x, step = blockDim.x * gridDim.x;
    for (size_t i = first; i < n; i += step) out[i] = in[i];
}

template <class T>
__global__ void words(T* __restrict__ out, const T* __restrict__ in, size_t n) {
    using Word = uint64_t;
    const size_t first = blockDim.x * blockIdx.x + threadIdx.x, step = blockDim.x * gridDim.x;
    for (size_t i = first; i * sizeof(Word) / sizeof(T) < n; i += step) {
        if ((i + 1) * sizeof(Word) / sizeof(T) < n) {
            reinterpret_cast<Word*>(out)[i] = reinterpret_cast<const Word*>(in)[i];
        } else {
            const size_t start = i * sizeof(Word) / sizeof(T), rest = n - start;
            for (size_t j = 0; j < rest; ++j) out[start + j] = in[start + j];
        }
    }
}

template <class T>
int copy_units(chain::Run& run) {
    const size_t n = run.size(0);
    chain::Array<T> in(n), out(n);
    if (run.verify) in.fill([](size_t i) { return i * 7 + i / 256; });
    auto prepare = [&] { if (run.verify) CHECK(cudaMemset(out, 0, n * sizeof(T))); };
    auto check = [&] { return out.download() == in.host; };
    auto blocks = [&](size_t bytes) { return chain::ceil_div((n * sizeof(T) + bytes - 1) / bytes, kThreads); };
    run.variant("memcpy", [&] { CHECK(cudaMemcpyAsync(out, in, n * sizeof(T), cudaMemcpyDeviceToDevice)); }, check, prepare);
    run.variant("units", [&] { units<T><<<blocks(sizeof(T)), kThreads>>>(out, in, n); }, check, prepare);
    run.variant("words", [&] { words<T><<<blocks(8), kThreads>>>(out, in, n); }, check, prepare);
    run.variant("words_half_idle", [&] { words<T><<<blocks(4), kThreads>>>(out, in, n); }, check, prepare);
    return run.finish();
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {134217728, 4}, {100000, 4});
    switch (run.size(1)) {
        case 1: return copy_units<int8_t>(run);
        case 2: return copy_units<int16_t>(run);
        case 4: return copy_units<int32_t>(run);
        case 8: return copy_units<int64_t>(run);
    }
    std::fprintf(stderr, "units of %lld bytes: use 1, 2, 4 or 8\n", run.size(1));
    return 2;
}
