// Convolution of a square image with a square mask, zeros outside the image, a pixel per thread, in blocks of several
// shapes. SIZE: rows, the axis of the mask (3, 5 or 7), and the columns and rows of a block.
#include "common.h"

constexpr int LARGEST = 7;
__constant__ float weights[LARGEST * LARGEST];

// The mask's axis is known only at run time, so its loops stay loops.
template <bool CONSTANT>
__device__ float weighted(const float* __restrict__ image, const float* __restrict__ mask, int n, int axis, int x,
                          int y) {
    const int reach = axis / 2;
    float sum = 0.0f;
    for (int i = -reach; i <= reach; ++i) {
        const int row = y + i;
        if (row < 0 || row >= n) continue;
        for (int j = -reach; j <= reach; ++j) {
            const int column = x + j;
            if (column < 0 || column >= n) continue;
            const int w = (i + reach) * axis + j + reach;
            sum += image[row * n + column] * (CONSTANT ? weights[w] : mask[w]);
        }
    }
    return sum;
}

__global__ void global_mask(const float* __restrict__ image, float* __restrict__ out, const float* __restrict__ mask,
                            int n, int axis) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = weighted<false>(image, mask, n, axis, x, y);
}

__global__ void constant_mask(const float* __restrict__ image, float* __restrict__ out, int n, int axis) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = weighted<true>(image, nullptr, n, axis, x, y);
}

// The block's pixels and the border that the mask reaches are brought into shared memory first, and the compiler knows
// the axis.
template <int AXIS>
__global__ void tiled(const float* __restrict__ image, float* __restrict__ out, int n) {
    extern __shared__ float tile[];
    constexpr int REACH = AXIS / 2;
    const int width = blockDim.x + 2 * REACH, height = blockDim.y + 2 * REACH;
    const int left = blockIdx.x * blockDim.x - REACH, top = blockIdx.y * blockDim.y - REACH;
    for (int i = threadIdx.y; i < height; i += blockDim.y)
        for (int j = threadIdx.x; j < width; j += blockDim.x) {
            const int row = top + i, column = left + j;
            const bool inside = row >= 0 && row < n && column >= 0 && column < n;
            tile[i * width + j] = inside ? image[row * n + column] : 0.0f;
        }
    __syncthreads();
    const int x = left + REACH + threadIdx.x, y = top + REACH + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < AXIS; ++i)
#pragma unroll
        for (int j = 0; j < AXIS; ++j)
            sum += tile[(threadIdx.y + i) * width + threadIdx.x + j] * weights[i * AXIS + j];
    out[y * n + x] = sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {2048, 5, 16, 16}, {75, 5, 16, 16});
    const int n = static_cast<int>(run.size(0)), axis = static_cast<int>(run.size(1)), reach = axis / 2;
    const dim3 block(static_cast<unsigned>(run.size(2)), static_cast<unsigned>(run.size(3)));
    if (axis != 3 && axis != 5 && axis != LARGEST) return 2;
    const size_t count = size_t(n) * n;
    chain::Array<float> image(count), out(count), mask(size_t(axis) * axis);
    mask.fill([](size_t i) { return chain::pattern(i, 2); });
    CHECK(cudaMemcpyToSymbol(weights, mask.host.data(), mask.count * sizeof(float)));
    std::vector<double> expected(run.verify ? count : 0);
    if (run.verify) {
        image.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x)
                for (int i = -reach; i <= reach; ++i)
                    for (int j = -reach; j <= reach; ++j)
                        if (y + i >= 0 && y + i < n && x + j >= 0 && x + j < n)
                            expected[size_t(y) * n + x] += double(image.host[size_t(y + i) * n + x + j]) *
                                                           mask.host[(i + reach) * axis + j + reach];
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    const dim3 grid(chain::ceil_div(n, block.x), chain::ceil_div(n, block.y));
    const size_t bytes = (block.x + 2 * reach) * (block.y + 2 * reach) * sizeof(float);
    run.variant("global_mask", [&] { global_mask<<<grid, block>>>(image, out, mask, n, axis); }, check, prepare);
    run.variant("constant_mask", [&] { constant_mask<<<grid, block>>>(image, out, n, axis); }, check, prepare);
    run.variant("tiled", [&] {
        if (axis == 3) tiled<3><<<grid, block, bytes>>>(image, out, n);
        else if (axis == 5) tiled<5><<<grid, block, bytes>>>(image, out, n);
        else tiled<LARGEST><<<grid, block, bytes>>>(image, out, n);
    }, check, prepare);
    return run.finish();
}
