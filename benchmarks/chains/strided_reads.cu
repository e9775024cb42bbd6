// Copies of floats that lie some way apart into neighbouring ones. Names end in the distance; SIZE is the number copied.
#include "common.h"

__global__ void copy(const float* in, float* out, int n, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[static_cast<long long>(i) * stride];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 25}, {1000});
    const int n = static_cast<int>(run.size(0));
    constexpr int kMost = 32;
    chain::Array<float> in(size_t(n) * kMost), out(n);
    if (run.verify) in.fill([](size_t i) { return chain::pattern(i, 1); });
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    for (int stride = 1; stride <= kMost; stride *= 2) {
        auto check = [&, stride] {
            std::vector<float> expected(n);
            for (int i = 0; i < n; ++i) expected[i] = in.host[size_t(i) * stride];
            return chain::close(out, expected, 0.0);
        };
        run.variant(("stride_" + std::to_string(stride)).c_str(),
                    [&, stride] { copy<<<chain::ceil_div(n, 256), 256>>>(in, out, n, stride); }, check, prepare);
    }
    return run.finish();
}
