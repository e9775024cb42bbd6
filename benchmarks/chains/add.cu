// Elementwise addition with loads of 4, 8 and 16 bytes. Blocks of 256 threads; SIZE is the number of floats.
#include "common.h"

constexpr int kThreads = 256;

__global__ void add_float(float* a, float* b, float* c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

__global__ void add_float2(float* a, float* b, float* c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 x = reinterpret_cast<float2*>(a)[i], y = reinterpret_cast<float2*>(b)[i];
    reinterpret_cast<float2*>(c)[i] = make_float2(x.x + y.x, x.y + y.y);
}

__global__ void add_float4(float* a, float* b, float* c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 x = reinterpret_cast<float4*>(a)[i], y = reinterpret_cast<float4*>(b)[i];
    reinterpret_cast<float4*>(c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {32 << 20}, {8192});
    const size_t n = run.size(0);
    chain::Array<float> a(n), b(n), c(n);
    std::vector<float> sum(run.verify ? n : 0);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (size_t i = 0; i < n; ++i) sum[i] = a.host[i] + b.host[i];
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, sum, 0.0); };
    const int blocks = static_cast<int>(n / kThreads);

    run.variant("float", [&] { add_float<<<blocks, kThreads>>>(a, b, c); }, check, prepare);
    run.variant("float2", [&] { add_float2<<<blocks / 2, kThreads>>>(a, b, c); }, check, prepare);
    run.variant("float4", [&] { add_float4<<<blocks / 4, kThreads>>>(a, b, c); }, check, prepare);
    return run.finish();
}
