// One step of Jacobi's iteration on a square (the mean of four neighbours) and in a cube (of six), the rim left alone:
// straight from global memory, from overlapping tiles in shared memory, and by threads that walk through the cube.
// Each launch reads what the one before wrote. SIZE: the points along an edge, and the levels (one for the square).
#include "common.h"

#include <utility>

constexpr int kTile = 16;

// A point per thread.
__global__ void square(const float* __restrict__ now, float* __restrict__ next, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const int at = y * width + x;
    next[at] = 0.25f * (now[at + 1] + now[at - 1] + now[at + width] + now[at - width]);
}

// A tile of Width x Height points, of which the inner ones are computed; neighbouring tiles overlap by two.
template <int Width, int Height>
__global__ void square_shared(const float* __restrict__ now, float* __restrict__ next, int width, int height) {
    __shared__ float tile[Height][Width];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = (blockDim.x - 2) * blockIdx.x + tx, y = (blockDim.y - 2) * blockIdx.y + ty;
    if (x >= width || y >= height) return;
    tile[ty][tx] = now[y * width + x];
    __syncthreads();
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    if (tx < 1 || ty < 1 || tx >= Width - 1 || ty >= Height - 1) return;
    next[y * width + x] = 0.25f * (tile[ty][tx + 1] + tile[ty][tx - 1] + tile[ty + 1][tx] + tile[ty - 1][tx]);
}

// A thread per column of the cube, which walks through its levels.
__global__ void cube_walk(const float* __restrict__ now, float* __restrict__ next, int width, int height, int depth) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    auto at = [&](int k, int j, int i) { return (k * height + j) * width + i; };
    for (int z = 1; z < depth - 1; ++z)
        next[at(z, y, x)] = 0.16666667f * (now[at(z, y, x + 1)] + now[at(z, y, x - 1)] + now[at(z, y + 1, x)] +
                                           now[at(z, y - 1, x)] + now[at(z + 1, y, x)] + now[at(z - 1, y, x)]);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {256, 256}, {40, 7});
    const int edge = run.size(0), depth = run.size(1), area = edge * edge;
    const size_t points = size_t(area) * depth;
    chain::Array<float> now(points), next(points);
    std::vector<float> flat, deep;
    if (run.verify) {
        now.fill([](size_t i) { return chain::pattern(i, 1) + 2.0f; });
        flat.assign(points, 0.0f);
        deep.assign(points, 0.0f);
        const auto& a = now.host;
        for (int y = 1; y < edge - 1; ++y)
            for (int x = 1; x < edge - 1; ++x) {
                const size_t i = size_t(y) * edge + x;
                flat[i] = (a[i + 1] + a[i - 1] + a[i + edge] + a[i - edge]) / 4;
                for (size_t j = i + area; j + area < points; j += area)
                    deep[j] = (a[j + 1] + a[j - 1] + a[j + edge] + a[j - edge] + a[j + area] + a[j - area]) / 6;
            }
    }
    float *from = now, *to = next;
    auto restart = [&] {
        from = now, to = next;
        if (run.verify) next.fill([](size_t) { return 0.0f; });
    };
    auto check_flat = [&] { return chain::close(next, flat, 1e-5); };
    auto check_deep = [&] { return chain::close(next, deep, 1e-5); };
    const int tiles = chain::ceil_div(edge, kTile), lapped = chain::ceil_div(edge - 2, kTile - 2);
    const dim3 block(kTile, kTile), columns(chain::ceil_div(edge, 32), chain::ceil_div(edge, 16));
    run.variant("square", [&] {
        square<<<dim3(tiles, tiles), block>>>(from, to, edge, edge);
        std::swap(from, to);
    }, check_flat, restart);
    run.variant("square_shared", [&] {
        square_shared<kTile, kTile><<<dim3(lapped, lapped), block>>>(from, to, edge, edge);
        std::swap(from, to);
    }, check_flat, restart);
    run.variant("cube_walk", [&] {
        cube_walk<<<columns, dim3(32, 16)>>>(from, to, edge, edge, depth);
        std::swap(from, to);
    }, check_deep, restart);
    return run.finish();
}
