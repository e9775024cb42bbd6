// Copies of 2^20 floats that lie some way apart. Names end in the distance; SIZE is the number of floats copied.
#include "common.h"

__global__ void copy(const float* __restrict__ in, float* __restrict__ out, size_t n, int stride) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) out[i * stride] = in[i * stride];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 20}, {1000});
    const size_t n = run.size(0);
    constexpr int kMost = 128;
    chain::Array<float> in(n * kMost), out(n * kMost);
    if (run.verify) in.fill([](size_t i) { return chain::pattern(i, 1); });
    for (int stride = 1; stride <= kMost; stride *= 2) {
        auto check = [&, stride] {
            std::vector<float> expected(n * kMost, 0.0f);
            for (size_t i = 0; i < n; ++i) expected[i * stride] = in.host[i * stride];
            return chain::close(out, expected, 0.0);
        };
        auto prepare = [&] { if (run.verify) CHECK(cudaMemset(out, 0, out.count * sizeof(float))); };
        run.variant(("stride_" + std::to_string(stride)).c_str(),
                    [&, stride] { copy<<<chain::ceil_div(n, 256), 256>>>(in, out, n, stride); }, check, prepare);
    }
    return run.finish();
}
