// The host side of a fuzz program, the same for the simulated GPU (nvcc) and the emulation (g++):
// fills the inputs, launches every kernel of the program and prints one line per kernel with a
// hash of each output buffer. With arguments `only N` it runs kernel N alone, with `dump N` it
// prints the outputs of kernel N in full.
#pragma once
#ifdef __CUDACC__
#include <cuda_runtime.h>
#define FUZZ_LAUNCH(kernel, grid, block, shared, ...) kernel<<<grid, block, shared>>>(__VA_ARGS__)
#define FUZZ_DYNAMIC_SHARED(type, name)                       \
    extern __shared__ __align__(16) unsigned char fuzz_dynamic[]; \
    type* name = (type*)fuzz_dynamic
#define FUZZ_BOTH __host__ __device__
#else
#include "intrinsics.h"
#include "emulate.h"
#define FUZZ_LAUNCH(kernel, grid, block, shared, ...) \
    emu::launch(grid, block, [&] { kernel(__VA_ARGS__); })
#define FUZZ_DYNAMIC_SHARED(type, name) type* name = (type*)emu::dynamic_shared
#define FUZZ_BOTH
#endif
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef unsigned __int128 u128;

#include "ptx_ops.h"

constexpr u32 kInputs = 65536;      // elements of every input buffer
constexpr u32 kCells = 64;          // cells of each kind that atomics update
constexpr u32 kWordsPerThread = 4;  // of u32 output; half as many of the other types

struct Pair { u32 a; i64 b; };
struct Params {                     // passed by value, read by kernels as p.name
    u32 wrap;      // close to 2^32
    i32 near_max;  // close to INT_MAX
    u32 stride;
    i32 offset;
    u64 wide;
    f32 scale;
    f64 factor;
    u8 byte;
    i16 half;
    Pair pair;
    i32 trips[4];  // 0..6
    u32 words[4];
};
struct Buffers {
    const u8* b; const i16* h; const u32* u; const i64* l; const f32* f; const f64* d;
};
struct Outputs { u32* u; u64* l; f32* f; f64* d; };
struct Cells { u32* u; u64* l; f32* f; f64* d; };

// NaNs have no agreed bits: make them one before anybody looks at them.
FUZZ_BOTH inline float canon(float v) { return v == v ? v : 1234.5f; }
FUZZ_BOTH inline double canon(double v) { return v == v ? v : 1234.5; }

#ifdef __CUDACC__
#define FUZZ_DEVICE __device__ __forceinline__
#else
#define FUZZ_DEVICE inline
#endif
FUZZ_DEVICE u32 bits_of(f32 v) { return (u32)__float_as_int(canon(v)); }
FUZZ_DEVICE u64 bits_of(f64 v) { return (u64)__double_as_longlong(canon(v)); }

// Behind a function, for nvcc 13.0's front end folds ceil(1e20) of a constant to -9.2e18.
FUZZ_DEVICE f32 round_up(f32 v) { return ceilf(v); }
FUZZ_DEVICE f64 round_up(f64 v) { return ceil(v); }
FUZZ_DEVICE f32 round_down(f32 v) { return floorf(v); }
FUZZ_DEVICE f64 round_down(f64 v) { return floor(v); }

// The lane a shuffle reads. Where that lane is no member the value is undefined, so kernels keep
// their own (see keep_member).
FUZZ_DEVICE u32 source_index(u32 lane, u32 b, u32 width) { return (lane & (32u - width)) | (b & (width - 1u)); }
FUZZ_DEVICE u32 source_up(u32 lane, u32 b, u32 width) { return (lane & (width - 1u)) >= b ? lane - b : lane; }
FUZZ_DEVICE u32 source_down(u32 lane, u32 b, u32 width) { return (lane & (width - 1u)) + b < width ? lane + b : lane; }
FUZZ_DEVICE u32 source_xor(u32 lane, u32 b, u32 width) { return lane ^ (b & (width - 1u)); }
template <class T> FUZZ_DEVICE T keep_member(u32 mask, u32 source, T got, T own) {
    return (mask >> source & 1u) ? got : own;
}
// A member of the mask: lane k if it is one, else the first.
FUZZ_DEVICE u32 member(u32 mask, u32 k) { return (mask >> (k & 31u) & 1u) ? (k & 31u) : (u32)__ffs((int)mask) - 1u; }

typedef void (*KernelLaunch)(Params, Buffers, Outputs, Cells);
struct Case {
    const char* name;
    KernelLaunch launch;
    u32 threads;  // of the whole grid
    u64 seed;
};

namespace fuzz {

inline u64 next_random(u64& state) {
    u64 z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

inline double random_float(u64& state, bool single) {
    u64 r = next_random(state);
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 1e30, -1e30, 1e-42, 3e-310, 2147483648.0,
                                     -2147483649.0, 4294967296.0, 9.3e18, 1.9e19, 0.5, 1.5, 16777217.0};
    switch (r % 8) {
        case 0: return special[r >> 8 & 15];
        case 1: return (double)(int)(r >> 40) - 8388608.0;
        case 2: return (r >> 8) % 64 == 0 ? (r & 1024 ? 1e300 * 1e300 : 1e300 * 1e300 * 0.0) : (double)((r >> 8) & 255);
        case 3: return single ? 0.1 * (double)(r >> 54) : 1e10 * (double)(r >> 54);
        default: return (double)(i64)(r >> 11) / 562949953421312.0 - 8.0;
    }
}

inline u64 random_integer(u64& state) {
    u64 r = next_random(state);
    switch (r % 5) {
        case 0: return r >> 56;
        case 1: return (u64)0 - (r >> 58);
        case 2: return 0x7fffffffull + (r >> 60) - 8;
        default: return next_random(state);
    }
}

#ifdef __CUDACC__
inline void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
    std::exit(3);
}
inline void* to_device(const void* data, size_t bytes) {
    void* p = nullptr;
    check(cudaMalloc(&p, bytes), "cudaMalloc");
    check(cudaMemcpy(p, data, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to device");
    return p;
}
inline void from_device(void* data, const void* p, size_t bytes) {
    check(cudaMemcpy(data, p, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy to host");
}
inline void free_device(void* p) { check(cudaFree(p), "cudaFree"); }
inline void synchronise() {
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
}
#else
inline void* to_device(const void* data, size_t bytes) {
    void* p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memcpy(p, data, bytes);
    return p;
}
inline void from_device(void* data, const void* p, size_t bytes) { std::memcpy(data, p, bytes); }
inline void free_device(void* p) { std::free(p); }
inline void synchronise() {}
#endif

template <class T> struct Buffer {  // a host array and its twin on the device
    std::vector<T> host;
    T* device = nullptr;
    explicit Buffer(size_t n) : host(n) {}
    void upload() { device = (T*)to_device(host.data(), host.size() * sizeof(T)); }
    void download() { from_device(host.data(), device, host.size() * sizeof(T)); free_device(device); }
    void fill_pattern() { std::memset(host.data(), 0xa5, host.size() * sizeof(T)); }
    u64 hash() const {
        u64 h = 0xcbf29ce484222325ull;
        const u8* bytes = (const u8*)host.data();
        for (size_t i = 0; i < host.size() * sizeof(T); ++i) h = (h ^ bytes[i]) * 0x100000001b3ull;
        return h;
    }
    void dump(const char* name) const {
        for (size_t i = 0; i < host.size(); ++i) {
            u64 bits = 0;
            std::memcpy(&bits, &host[i], sizeof(T));
            std::printf("%s[%zu] %0*llx\n", name, i, (int)(2 * sizeof(T)), (unsigned long long)bits);
        }
    }
};

inline Params make_params(u64& state) {
    Params p;
    std::memset(&p, 0, sizeof p);
    p.wrap = 0u - (u32)(next_random(state) % 300);
    p.near_max = 0x7fffffff - (i32)(next_random(state) % 300);
    p.stride = (u32)(next_random(state) % 9);
    p.offset = (i32)(next_random(state) % 200) - 100;
    p.wide = random_integer(state);
    p.scale = (f32)((double)(next_random(state) % 64) / 16.0 - 2.0);
    p.factor = (f64)(next_random(state) % 1000) / 37.0;
    p.byte = (u8)next_random(state);
    p.half = (i16)next_random(state);
    p.pair.a = (u32)random_integer(state);
    p.pair.b = (i64)random_integer(state);
    for (i32& t : p.trips) t = (i32)(next_random(state) % 7);
    for (u32& w : p.words) w = (u32)random_integer(state);
    return p;
}

inline void run_case(const Case& one, bool dump) {
    u64 state = one.seed;
    Buffer<u8> b(kInputs); Buffer<i16> h(kInputs); Buffer<u32> u(kInputs);
    Buffer<i64> l(kInputs); Buffer<f32> f(kInputs); Buffer<f64> d(kInputs);
    for (u32 i = 0; i < kInputs; ++i) {
        b.host[i] = (u8)next_random(state);
        h.host[i] = (i16)random_integer(state);
        u.host[i] = (u32)random_integer(state);
        l.host[i] = (i64)random_integer(state);
        f.host[i] = (f32)random_float(state, true);
        d.host[i] = random_float(state, false);
    }
    Buffer<u32> ou(one.threads * kWordsPerThread), cu(kCells);
    Buffer<u64> ol(one.threads * kWordsPerThread / 2), cl(kCells);
    Buffer<f32> of(one.threads * kWordsPerThread / 2), cf(kCells);
    Buffer<f64> od(one.threads * kWordsPerThread / 2), cd(kCells);
    for (u32& cell : cu.host) cell = (u32)random_integer(state);  // float cells start at zero: sums stay exact
    for (u64& cell : cl.host) cell = random_integer(state);
    ou.fill_pattern(); ol.fill_pattern(); of.fill_pattern(); od.fill_pattern();
    b.upload(); h.upload(); u.upload(); l.upload(); f.upload(); d.upload();
    ou.upload(); ol.upload(); of.upload(); od.upload();
    cu.upload(); cl.upload(); cf.upload(); cd.upload();
    Buffers in{b.device, h.device, u.device, l.device, f.device, d.device};
    Outputs out{ou.device, ol.device, of.device, od.device};
    Cells cells{cu.device, cl.device, cf.device, cd.device};
    one.launch(make_params(state), in, out, cells);
    synchronise();
    b.download(); h.download(); u.download(); l.download(); f.download(); d.download();
    ou.download(); ol.download(); of.download(); od.download();
    cu.download(); cl.download(); cf.download(); cd.download();
    if (dump) {
        ou.dump("u"); ol.dump("l"); of.dump("f"); od.dump("d");
        cu.dump("cell_u"); cl.dump("cell_l"); cf.dump("cell_f"); cd.dump("cell_d");
        return;
    }
    u64 inputs = b.hash() ^ h.hash() ^ u.hash() ^ l.hash() ^ f.hash() ^ d.hash();
    std::printf("%s u=%016llx l=%016llx f=%016llx d=%016llx cells=%016llx inputs=%016llx\n", one.name,
                (unsigned long long)ou.hash(), (unsigned long long)ol.hash(), (unsigned long long)of.hash(),
                (unsigned long long)od.hash(),
                (unsigned long long)(cu.hash() ^ 3 * cl.hash() ^ 5 * cf.hash() ^ 7 * cd.hash()),
                (unsigned long long)inputs);
    std::fflush(stdout);
}

inline int main_program(int argc, char** argv, const Case* cases, int count) {
    bool dump = argc > 2 && std::strcmp(argv[1], "dump") == 0;
    for (int i = 0; i < count; ++i)
        if (argc < 3 || std::atoi(argv[2]) == i) run_case(cases[i], dump);
    return 0;
}

}  // namespace fuzz
