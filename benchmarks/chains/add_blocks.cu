// c = a + b of floats, one per thread. SIZEs: the number of floats, threads per block.
#include "common.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26, 256}, {1000, 96});
    const int n = static_cast<int>(run.size(0)), threads = static_cast<int>(run.size(1));
    chain::Array<float> a(n), b(n), c(n);
    std::vector<float> expected;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int i = 0; i < n; ++i) expected.push_back(a.host[i] + b.host[i]);
    }
    run.variant("add", [&] { add<<<chain::ceil_div(n, threads), threads>>>(a, b, c, n); },
                [&] { return chain::close(c, expected, 0.0); }, [&] { if (run.verify) chain::poison(c); });
    return run.finish();
}
