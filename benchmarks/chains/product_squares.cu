// Matrix product C = A B of square fp32 matrices, one result per thread, in blocks of 8 x 8, 16 x 16 and 32 x 32.
// Names end in the side of a block; SIZE is the number of rows.
#include "common.h"

__global__ void product(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && column < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = sum;
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {100});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(size_t(n) * n), b(size_t(n) * n), c(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        expected.resize(c.count);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                double sum = 0.0;
                for (int k = 0; k < n; ++k) sum += double(a.host[i * n + k]) * b.host[k * n + j];
                expected[i * n + j] = static_cast<float>(sum);
            }
    }
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    for (int side : {8, 16, 32}) {
        const dim3 block(side, side), grid(chain::ceil_div(n, side), chain::ceil_div(n, side));
        run.variant(("square_" + std::to_string(side)).c_str(), [&] { product<<<grid, block>>>(a, b, c, n); },
                    [&] { return chain::close(c, expected, 1e-4); }, prepare);
    }
    return run.finish();
}
