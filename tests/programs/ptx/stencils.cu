// Stencils and convolutions: 2D convolution with constant weights, tiled with halo, 3D heat, game of life.
#include "../check.h"

__constant__ float kernel5[5][5];

__global__ void convolve(const float* in, float* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
    for (int dy = -2; dy <= 2; dy++) {
        for (int dx = -2; dx <= 2; dx++) {
            int sx = x + dx, sy = y + dy;
            if (sx >= 0 && sx < w && sy >= 0 && sy < h) sum += in[sy * w + sx] * kernel5[dy + 2][dx + 2];
        }
    }
    out[y * w + x] = sum;
}

__global__ void convolve_tiled(const float* in, float* out, int w, int h) {
    __shared__ float tile[12][20];  // 16 x 8 results and a halo of 2
    int x0 = blockIdx.x * 16 - 2, y0 = blockIdx.y * 8 - 2;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 12 * 20; i += 128) {
        int sx = x0 + i % 20, sy = y0 + i / 20;
        tile[i / 20][i % 20] = sx >= 0 && sx < w && sy >= 0 && sy < h ? in[sy * w + sx] : 0.0f;
    }
    __syncthreads();
    int x = x0 + 2 + threadIdx.x, y = y0 + 2 + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
#pragma unroll
    for (int dy = 0; dy < 5; dy++) {
#pragma unroll
        for (int dx = 0; dx < 5; dx++) sum += tile[threadIdx.y + dy][threadIdx.x + dx] * kernel5[dy][dx];
    }
    out[y * w + x] = sum;
}

__global__ void heat(const double* in, double* out, int n) {
    int x = threadIdx.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x >= n || y >= n) return;
    double below = 0, here = in[y * n + x];
    for (int z = 0; z < n; z++) {
        int i = (z * n + y) * n + x;
        double above = z + 1 < n ? in[i + n * n] : 0;
        double sides = (x ? in[i - 1] : 0) + (x + 1 < n ? in[i + 1] : 0) + (y ? in[i - n] : 0) + (y + 1 < n ? in[i + n] : 0);
        out[i] = here * 0.25 + (sides + below + above) * 0.125;
        below = here, here = above;
    }
}

// Game of life on a torus, 32 cells of a row per word.
__global__ void life(const unsigned* in, unsigned* out, int words, int rows) {
    int w = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (w >= words || y >= rows) return;
    unsigned next = 0;
    for (int b = 0; b < 32; b++) {
        int count = 0, x = w * 32 + b, width = words * 32;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                int sx = (x + dx + width) % width, sy = (y + dy + rows) % rows;
                if (dx || dy) count += in[sy * words + sx / 32] >> (sx % 32) & 1;
            }
        }
        bool alive = in[y * words + w] >> b & 1;
        if (count == 3 || (alive && count == 2)) next |= 1u << b;
    }
    out[y * words + w] = next;
}

int main() {
    const int w = 53, h = 29;
    Random random(67);
    std::vector<float> image(w * h);
    float weights[5][5];
    for (float& v : image) v = float(random.below(256));
    for (auto& row : weights) for (float& v : row) v = float(int(random.below(17)) - 8) / 16;
    CUDA_OK(cudaMemcpyToSymbol(kernel5, weights, sizeof weights));
    Buffer<float> din(image), plain(w * h), tiled(w * h);
    convolve<<<dim3(4, 4), dim3(16, 8)>>>(din, plain, w, h);
    convolve_tiled<<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(din, tiled, w, h);
    auto a = plain.host(), b = tiled.host();
    for (int i = 0; i < w * h; i++) {
        float sum = 0;  // exact in float: multiples of 1/16 below 2^20
        for (int dy = -2; dy <= 2; dy++) for (int dx = -2; dx <= 2; dx++) {
            int x = i % w + dx, y = i / w + dy;
            if (x >= 0 && x < w && y >= 0 && y < h) sum += image[y * w + x] * weights[dy + 2][dx + 2];
        }
        expect_equal("convolve", i, sum, a[i]);
        expect_equal("convolve tiled", i, sum, b[i]);
    }

    const int n = 14;
    std::vector<double> now(n * n * n), next(n * n * n);
    for (double& v : now) v = double(random.below(1024));
    Buffer<double> d0(now), d1(n * n * n);
    for (int round = 0; round < 4; round++) heat<<<dim3(1, 3), dim3(n, 5)>>>(round % 2 ? d1 : d0, round % 2 ? d0 : d1, n);
    for (int round = 0; round < 4; round++) {
        auto at = [&](int x, int y, int z) { return x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n ? 0.0 : now[(z * n + y) * n + x]; };
        for (int i = 0; i < n * n * n; i++) {
            int x = i % n, y = i / n % n, z = i / n / n;
            next[i] = at(x, y, z) * 0.25 + (at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1)) * 0.125;
        }
        std::swap(now, next);
    }
    expect_all("heat", now, d0.host());

    const int words = 3, rows = 40;
    std::vector<unsigned> cells(words * rows), after(words * rows);
    for (unsigned& c : cells) c = random.u32() & random.u32();
    Buffer<unsigned> c0(cells), c1(words * rows);
    for (int round = 0; round < 6; round++) life<<<dim3(1, 5), dim3(4, 8)>>>(round % 2 ? c1 : c0, round % 2 ? c0 : c1, words, rows);
    for (int round = 0; round < 6; round++) {
        auto at = [&](int x, int y) { x = (x + 96) % 96, y = (y + rows) % rows; return int(cells[y * words + x / 32] >> (x % 32) & 1); };
        for (auto& c : after) c = 0;
        for (int y = 0; y < rows; y++) for (int x = 0; x < 96; x++) {
            int count = at(x - 1, y - 1) + at(x, y - 1) + at(x + 1, y - 1) + at(x - 1, y) + at(x + 1, y) + at(x - 1, y + 1) + at(x, y + 1) + at(x + 1, y + 1);
            if (count == 3 || (at(x, y) && count == 2)) after[y * words + x / 32] |= 1u << (x % 32);
        }
        std::swap(cells, after);
    }
    expect_all("life", cells, c0.host());
    return passed();
}
