// Simple streams over arrays of doubles, with two blocks on a multiprocessor: large blocks fill it, small ones leave
// it nearly empty. Names end in the number of threads of a block; SIZE is the number of elements.
#include "common.h"

__global__ void init(double* out, const double*, const double*, size_t n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) out[i] = 0.25;
}

__global__ void read(double* out, const double* __restrict__ in, const double*, size_t n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    double value = in[i];
    if (value == 123.25) out[i] = value;  // never: so that the load stays
}

__global__ void scale(double* out, const double* __restrict__ in, const double*, size_t n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) out[i] = in[i] * 1.25;
}

__global__ void triad(double* out, const double* __restrict__ in, const double* __restrict__ other, size_t n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) out[i] = in[i] * 1.25 + other[i];
}

__global__ void five_points(double* out, const double* __restrict__ in, const double*, size_t n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n - 2 || i < 2) return;
    out[i] = 0.25 * in[i - 2] + 0.25 * in[i - 1] - 1.0 * in[i] + 0.5 * in[i + 1] + 0.5 * in[i + 2];
}

using Stream = void (*)(double*, const double*, const double*, size_t);

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {(128 << 20) + 2}, {4099});
    const size_t n = run.size(0);
    chain::Array<double> in(n), other(n), out(n);
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    const int half = static_cast<int>(card.sharedMemPerMultiprocessor / 2 - 2048);  // of its shared memory: two blocks fit
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        other.fill([](size_t i) { return chain::pattern(i, 2); });
    }
    auto prepare = [&] { if (run.verify) CHECK(cudaMemset(out, 0, n * sizeof(double))); };
    auto expected = [&](int which) {
        std::vector<double> values(n, 0.0);
        const std::vector<double>&a = in.host, &b = other.host;
        for (size_t i = 0; i < n; ++i) {
            if (which == 0) values[i] = 0.25;
            if (which == 2) values[i] = a[i] * 1.25;
            if (which == 3) values[i] = a[i] * 1.25 + b[i];
            if (which == 4 && i >= 2 && i + 2 < n)
                values[i] = 0.25 * a[i - 2] + 0.25 * a[i - 1] - a[i] + 0.5 * a[i + 1] + 0.5 * a[i + 2];
        }
        return values;
    };
    const Stream streams[] = {init, read, scale, triad, five_points};
    const char* names[] = {"init", "read", "scale", "triad", "five_points"};
    for (int which = 0; which < 5; ++which) {
        CHECK(cudaFuncSetAttribute(streams[which], cudaFuncAttributeMaxDynamicSharedMemorySize, half));
        for (int threads : {32, 64, 128, 256, 512, 1024}) {
            auto launch = [&] {
                streams[which]<<<static_cast<unsigned>(n / threads + 1), threads, half>>>(out, in, other, n);
            };
            run.variant((names[which] + ("_" + std::to_string(threads))).c_str(), launch,
                        [&] { return chain::close(out, expected(which), 1e-12); }, prepare);
        }
    }
    return run.finish();
}
