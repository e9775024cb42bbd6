// Sum of two square matrices, an element per thread of 16 x 16 blocks, whose neighbouring lanes lie along a row or
// along a column. SIZE is the number of rows.
#include "common.h"

__global__ void along_columns(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    const int i = row * n + column;
    if (row < n && column < n) c[i] = a[i] + b[i];
}

__global__ void along_rows(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = row * n + column;
    if (row < n && column < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192}, {100});
    const int n = static_cast<int>(run.size(0));
    const size_t count = size_t(n) * n;
    chain::Array<float> a(count), b(count), c(count);
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (size_t i = 0; i < count; ++i) expected[i] = a.host[i] + b.host[i];
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto check = [&] { return chain::close(c, expected, 0.0); };
    const dim3 block(16, 16), grid(chain::ceil_div(n, 16), chain::ceil_div(n, 16));
    run.variant("along_columns", [&] { along_columns<<<grid, block>>>(a, b, c, n); }, check, prepare);
    run.variant("along_rows", [&] { along_rows<<<grid, block>>>(a, b, c, n); }, check, prepare);
    return run.finish();
}
