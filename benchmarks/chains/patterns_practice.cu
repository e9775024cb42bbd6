// Doubling floats: each where it lies, every second one, four of each structure, four arrays; blocks of 1024. Tiles of a
// square of 32 x 32 through shared memory: in rows, read and written in columns, and the same with padding.
// SIZE is the number of floats of an array; its root is the side of the square, a multiple of 32.
#include "common.h"

constexpr int kThreads = 1024, kTile = 32;

struct alignas(16) Four {
    float x, y, z, w;
};

struct Arrays {
    float *x, *y, *z, *w;
};

__global__ void each(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 2.0f;
}

__global__ void every(const float* in, float* out, int n, int stride) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride;
    if (i < n) out[i] = in[i] * 2.0f;
}

__global__ void structures(const Four* in, Four* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i].x = in[i].x * 2.0f;
    out[i].y = in[i].y * 2.0f;
    out[i].z = in[i].z * 2.0f;
    out[i].w = in[i].w * 2.0f;
}

__global__ void arrays(const Arrays in, Arrays out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out.x[i] = in.x[i] * 2.0f;
    out.y[i] = in.y[i] * 2.0f;
    out.z[i] = in.z[i] * 2.0f;
    out.w[i] = in.w[i] * 2.0f;
}

template <bool kColumns, int kPadding>
__global__ void tiles(const float* in, float* out, int n) {
    __shared__ float tile[kTile][kTile + kPadding];
    const int x = threadIdx.x, y = threadIdx.y, left = blockIdx.x * kTile, top = blockIdx.y * kTile;
    if (top + y < n && left + x < n) tile[y][x] = in[(top + y) * n + left + x];
    __syncthreads();
    if (!kColumns && top + y < n && left + x < n) out[(top + y) * n + left + x] = tile[y][x] * 2.0f;
    if (kColumns && top + x < n && left + y < n) out[(top + x) * n + left + y] = tile[x][y] * 2.0f;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 24}, {96 * 96});
    const int n = static_cast<int>(run.size(0)), side = static_cast<int>(std::sqrt(double(n)) + 0.5);
    chain::Array<float> in(size_t(n) * 4), out(size_t(n) * 4);
    std::vector<float> one, four, second;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int i = 0; i < 4 * n; ++i) four.push_back(2.0f * in.host[i]);
        one.assign(four.begin(), four.begin() + n);
        for (int i = 0; i < n; ++i) second.push_back(i % 2 ? 0.0f : one[i]);
    }
    auto is_one = [&] { return chain::close(out, one, 0.0); };
    auto is_four = [&] { return chain::close(out, four, 0.0); };
    auto is_second = [&] { return chain::close(out, second, 0.0); };
    auto prepare = [&] { if (run.verify) CHECK(cudaMemset(out, 0, 16 * size_t(n))); };
    const int blocks = chain::ceil_div(n, kThreads);
    const Arrays from{in.data, in.data + n, in.data + 2 * size_t(n), in.data + 3 * size_t(n)};
    const Arrays to{out.data, out.data + n, out.data + 2 * size_t(n), out.data + 3 * size_t(n)};
    const dim3 tile(kTile, kTile), grid(side / kTile, side / kTile);
    run.variant("each", [&] { each<<<blocks, kThreads>>>(in, out, n); }, is_one, prepare);
    run.variant("every_second", [&] { every<<<chain::ceil_div(n, 2 * kThreads), kThreads>>>(in, out, n, 2); }, is_second, prepare);
    run.variant("structures", [&] {
        structures<<<blocks, kThreads>>>(reinterpret_cast<Four*>(in.data), reinterpret_cast<Four*>(out.data), n);
    }, is_four, prepare);
    run.variant("arrays", [&] { arrays<<<blocks, kThreads>>>(from, to, n); }, is_four, prepare);
    run.variant("tiles_rows", [&] { tiles<false, 0><<<grid, tile>>>(in, out, side); }, is_one, prepare);
    run.variant("tiles_columns", [&] { tiles<true, 0><<<grid, tile>>>(in, out, side); }, is_one, prepare);
    run.variant("tiles_padded", [&] { tiles<true, 1><<<grid, tile>>>(in, out, side); }, is_one, prepare);
    return run.finish();
}
