// Loads and stores with cache hints, read-only data, volatile accesses and prefetches: all of them
// move the same bytes as a plain access.
#include "../check.h"

__global__ void hinted(const int* __restrict__ in, int* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = __ldg(in + i) + __ldcg(in + (i + 1) % n) + __ldca(in + (i + 2) % n) + __ldcs(in + (i + 3) % n) + __ldlu(in + (i + 4) % n) + __ldcv(in + (i + 5) % n);
    __stwb(out + i, sum);
    __stcg(out + n + i, sum + 1);
    __stcs(out + 2 * n + i, sum + 2);
    __stwt(out + 3 * n + i, sum + 3);
}

template <class V>
__global__ void vectors(const V* in, V* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    V a = __ldg(in + i);
    __stcs(out + i, a);
    __stcg(out + n + i, __ldcs(in + n - 1 - i));
}

// __restrict__ const data goes through ld.global.nc, uniformly and per lane.
__global__ void gather(const float* __restrict__ values, const int* __restrict__ index, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float scale = values[0];
    out[i] = values[index[i]] * scale + values[blockIdx.x];
}

__global__ void inline_hints(const int* in, int* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    int a, b, c, d;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i));
    asm volatile("prefetch.global.L1 [%0];" ::"l"(in + i));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.s32 %0, [%1];" : "=r"(a) : "l"(in + i));
    asm volatile("ld.global.L1::evict_last.s32 %0, [%1];" : "=r"(b) : "l"(in + i));
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(c) : "l"(in + i) : "memory");
    asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(d) : "l"(in + i) : "memory");
    asm volatile("st.global.L1::no_allocate.s32 [%0], %1;" ::"l"(out + i), "r"(a + b * 2) : "memory");
    __threadfence_system();
    asm volatile("fence.sc.gpu;" ::: "memory");
    asm volatile("fence.acq_rel.cta;" ::: "memory");
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(out + n + i), "r"(c + d * 3) : "memory");
}

// Volatile shared memory: the classic warp-synchronous tail of a reduction, kept in step by __syncwarp.
__global__ void volatile_tail(const int* in, int* out) {
    __shared__ volatile int tile[64];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    for (int s = 32; s; s >>= 1) {
        int other = t < s ? tile[t + s] : 0;
        __syncwarp();
        if (t < s) tile[t] = tile[t] + other;
        __syncthreads();
    }
    if (t == 0) *(volatile int*)out = tile[0];
}

int main() {
    const int n = 210;
    Random random(25);
    std::vector<int> in(n), index(n);
    std::vector<float> values(n);
    for (int i = 0; i < n; i++) {
        in[i] = int(random.below(100000));
        index[i] = int(random.below(n));
        values[i] = float(random.below(64)) / 4 + 1;
    }
    Buffer<int> din(in), dindex(index), out(4 * n);
    hinted<<<3, 70>>>(din, out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) {
        int sum = 0;
        for (int k = 0; k < 6; k++) sum += in[(i + k) % n];
        for (int k = 0; k < 4; k++) expect_equal("hinted", i, sum + k, got[k * n + i]);
    }

    std::vector<float4> f4(n);
    std::vector<double2> d2(n);
    std::vector<uchar2> c2(n);
    for (int i = 0; i < n; i++) f4[i] = make_float4(i, -i, i * 2, 1), d2[i] = make_double2(i, 1.0 / (i + 1)), c2[i] = make_uchar2(i, i * 7);
    auto check = [&](const char* what, auto& source) {
        using V = std::decay_t<decltype(source[0])>;
        Buffer<V> a(source), b(2 * n);
        vectors<<<2, 128>>>(a.data, b.data, n);
        auto g = b.host();
        for (int i = 0; i < n; i++) {
            expect_equal(what, i, 0, memcmp(&source[i], &g[i], sizeof(V)));
            expect_equal(what, i, 0, memcmp(&source[n - 1 - i], &g[n + i], sizeof(V)));
        }
    };
    check("float4", f4);
    check("double2", d2);
    check("uchar2", c2);

    Buffer<float> dv(values), df(n);
    gather<<<5, 42>>>(dv, dindex, df, n);
    auto f = df.host();
    for (int i = 0; i < n; i++) expect_equal("gather", i, values[index[i]] * values[0] + values[i / 42], f[i]);

    inline_hints<<<1, 224>>>(din, out, n);
    got = out.host();
    for (int i = 0; i < n; i++) {
        expect_equal("inline", i, in[i] * 3, got[i]);
        expect_equal("inline", i, in[i] * 4, got[n + i]);
    }

    volatile_tail<<<1, 64>>>(din, out);
    int total = 0;
    for (int i = 0; i < 64; i++) total += in[i];
    expect_equal("volatile", 0, total, out.host()[0]);
    return passed();
}
