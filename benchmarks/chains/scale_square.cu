// Twice a square matrix, by blocks of 32 x 32 threads whose warps go along rows, or along columns. SIZE is its side.
#include "common.h"

template <bool kColumns>
__global__ void twice(const float* in, float* out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const int at = kColumns ? x * n + y : y * n + x;
    out[at] = in[at] * 2.0f;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {100});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> in(size_t(n) * n), out(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (float value : in.host) expected.push_back(2.0f * value);
    }
    auto check = [&] { return chain::close(out, expected, 0.0); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const dim3 grid(chain::ceil_div(n, 32), chain::ceil_div(n, 32)), block(32, 32);
    run.variant("rows", [&] { twice<false><<<grid, block>>>(in, out, n); }, check, prepare);
    run.variant("columns", [&] { twice<true><<<grid, block>>>(in, out, n); }, check, prepare);
    return run.finish();
}
