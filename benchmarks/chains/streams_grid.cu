// Streams over arrays of doubles by grids of 128 threads that go round until the arrays are done. Names end in the
// number of blocks; sums keep what they add in a register and write nothing. SIZE is the number of elements.
#include "common.h"

using Doubles = const double* __restrict__;

__global__ void init(double* out, Doubles, Doubles, Doubles, size_t n) {
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) out[i] = 0.125;
}

// kTogether elements at a time, a grid apart.
template <int kTogether>
__global__ void sum(double* out, Doubles a, Doubles, Doubles, size_t n) {
    const int thread = threadIdx.x + blockIdx.x * blockDim.x;
    const size_t grid = blockDim.x * gridDim.x;
    double total = 0.0;
    for (size_t i = thread; i < n - kTogether * grid; i += grid * kTogether) {
#pragma unroll
        for (int k = 0; k < kTogether; ++k) total += a[i + grid * k];
    }
    for (size_t i = thread + n - kTogether * grid; i < n; i += grid) total += a[i];
    if (total == 123.25) out[thread] = total;  // never: so that the loads stay
}

__global__ void dot(double* out, Doubles a, Doubles b, Doubles, size_t n) {
    const int thread = threadIdx.x + blockIdx.x * blockDim.x;
    double total = 0.0;
    for (size_t i = thread; i < n; i += blockDim.x * gridDim.x) total += a[i] * b[i];
    if (total == 123.25) out[thread] = total;
}

__global__ void scale(double* out, Doubles a, Doubles, Doubles, size_t n) {
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) out[i] = 0.25 * a[i];
}

__global__ void triad(double* out, Doubles a, Doubles b, Doubles, size_t n) {
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        out[i] = a[i] + 0.25 * b[i];
}

__global__ void products(double* out, Doubles a, Doubles b, Doubles c, size_t n) {
    for (size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        out[i] = a[i] + b[i] * c[i];
}

using Stream = void (*)(double*, Doubles, Doubles, Doubles, size_t);

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {32 << 20}, {1 << 22});
    const size_t n = run.size(0);
    chain::Array<double> a(n), b(n), c(n), out(n);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        c.fill([](size_t i) { return chain::pattern(i, 3); });
    }
    auto prepare = [&] { if (run.verify) CHECK(cudaMemset(out, 0, n * sizeof(double))); };
    const Stream streams[] = {init, sum<1>, sum<4>, sum<16>, dot, scale, triad, products};
    const char* names[] = {"init", "sum1", "sum4", "sum16", "dot", "scale", "triad", "products"};
    for (int which = 0; which < 8; ++which)
        for (int blocks : {16, 80, 320, 1280}) {
            auto check = [&] {
                std::vector<double> values(n, 0.0);  // what only sums leaves the output alone
                for (size_t i = 0; i < n; ++i) {
                    if (which == 0) values[i] = 0.125;
                    if (which == 5) values[i] = 0.25 * a.host[i];
                    if (which == 6) values[i] = a.host[i] + 0.25 * b.host[i];
                    if (which == 7) values[i] = a.host[i] + b.host[i] * c.host[i];
                }
                return chain::close(out, values, 1e-12);
            };
            run.variant((names[which] + ("_" + std::to_string(blocks))).c_str(),
                        [&] { streams[which]<<<blocks, 128>>>(out, a, b, c, n); }, check, prepare);
        }
    return run.finish();
}
