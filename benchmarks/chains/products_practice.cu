// Products of square matrices by tiles of 32 x 32 in shared memory: as they are, four tiles in a row per block, 4 x 4 results
// per thread, loaded four floats at a time by every fourth thread, and with two buffers; and by tiles of 128 x 128 x 8 with
// 8 x 8 results per thread. SIZE is the side.
#include "common.h"

constexpr int kTile = 32, kEach = 4;

__global__ void tiles(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    float value = 0.0f;
    for (int i = 0; i < (n + kTile - 1) / kTile; ++i) {
        const int x = i * kTile + threadIdx.x, y = i * kTile + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && x < n ? a[row * n + x] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = column < k && y < n ? b[y * k + column] : 0.0f;
        __syncthreads();
        for (int j = 0; j < kTile; ++j) value += tile_a[threadIdx.y][j] * tile_b[j][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < k) c[row * k + column] = value;
}

__global__ void tiles_in_a_row(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y;
    float values[kEach] = {};
    for (int i = 0; i < (n + kTile - 1) / kTile; ++i) {
        const int x = i * kTile + threadIdx.x, y = i * kTile + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && x < n ? a[row * n + x] : 0.0f;
        for (int e = 0; e < kEach; ++e) {
            const int column = (blockIdx.x * kEach + e) * kTile + threadIdx.x;
            tile_b[threadIdx.y][threadIdx.x] = column < k && y < n ? b[y * k + column] : 0.0f;
            __syncthreads();
            for (int j = 0; j < kTile; ++j) values[e] += tile_a[threadIdx.y][j] * tile_b[j][threadIdx.x];
            __syncthreads();
        }
    }
    for (int e = 0; e < kEach; ++e) {
        const int column = (blockIdx.x * kEach + e) * kTile + threadIdx.x;
        if (row < m && column < k) c[row * k + column] = values[e];
    }
}

__global__ void results_4x4(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kTile * kEach][kTile], tile_b[kTile][kTile * kEach];
    const int row = blockIdx.y * kTile * kEach + threadIdx.y, column = blockIdx.x * kTile * kEach + threadIdx.x;
    float values[kEach][kEach] = {};
    for (int i = 0; i < (n + kTile - 1) / kTile; ++i) {
        const int x = i * kTile + threadIdx.x, y = i * kTile + threadIdx.y;
        for (int e = 0; e < kEach; ++e) {
            const int here = row + e * kTile;
            tile_a[e * kTile + threadIdx.y][threadIdx.x] = here < m && x < n ? a[here * n + x] : 0.0f;
        }
        for (int e = 0; e < kEach; ++e) {
            const int here = column + e * kTile;
            tile_b[threadIdx.y][e * kTile + threadIdx.x] = here < k && y < n ? b[y * k + here] : 0.0f;
        }
        __syncthreads();
        for (int j = 0; j < kTile; ++j)
            for (int r = 0; r < kEach; ++r)
                for (int e = 0; e < kEach; ++e)
                    values[r][e] = fmaf(tile_a[r * kTile + threadIdx.y][j], tile_b[j][e * kTile + threadIdx.x], values[r][e]);
        __syncthreads();
    }
    for (int r = 0; r < kEach; ++r)
        for (int e = 0; e < kEach; ++e) {
            const int y = row + r * kTile, x = column + e * kTile;
            if (y < m && x < k) c[y * k + x] = values[r][e];
        }
}

__device__ float4 up_to_four(const float* from, int there) {
    float some[4] = {};
    for (int j = 0; j < 4 && j < there; ++j) some[j] = from[j];
    return make_float4(some[0], some[1], some[2], some[3]);
}

__global__ void vectors(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0.0f;
    for (int i = 0; i < (n + kTile - 1) / kTile; ++i) {
        const int x = i * kTile + threadIdx.x, y = i * kTile + threadIdx.y;
        if (threadIdx.x % 4 == 0) {
            float4 four = make_float4(0, 0, 0, 0);
            if (x + 3 < n && row < m) four = *reinterpret_cast<const float4*>(&a[row * n + x]);
            else if (row < m) four = up_to_four(&a[row * n + x], n - x);
            tile_a[threadIdx.y][threadIdx.x] = four.x;
            tile_a[threadIdx.y][threadIdx.x + 1] = four.y;
            tile_a[threadIdx.y][threadIdx.x + 2] = four.z;
            tile_a[threadIdx.y][threadIdx.x + 3] = four.w;
        }
        if (threadIdx.x % 4 == 0) {
            float4 four = make_float4(0, 0, 0, 0);
            if (y < n && column + 3 < k) four = *reinterpret_cast<const float4*>(&b[y * k + column]);
            else if (y < n) four = up_to_four(&b[y * k + column], k - column);
            tile_b[threadIdx.y][threadIdx.x] = four.x;
            tile_b[threadIdx.y][threadIdx.x + 1] = four.y;
            tile_b[threadIdx.y][threadIdx.x + 2] = four.z;
            tile_b[threadIdx.y][threadIdx.x + 3] = four.w;
        }
        __syncthreads();
        for (int j = 0; j < kTile; ++j) value += tile_a[threadIdx.y][j] * tile_b[j][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < k) c[row * k + column] = value;
}

__global__ void two_buffers(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[2][kTile][kTile], tile_b[2][kTile][kTile];
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    const int tiles = (n + kTile - 1) / kTile;
    auto load = [&](int i, int buffer) {
        const int x = i * kTile + threadIdx.x, y = i * kTile + threadIdx.y;
        tile_a[buffer][threadIdx.y][threadIdx.x] = row < m && x < n ? a[row * n + x] : 0.0f;
        tile_b[buffer][threadIdx.y][threadIdx.x] = y < n && column < k ? b[y * k + column] : 0.0f;
    };
    int next = 0;
    float value = 0.0f;
    load(0, next);
    __syncthreads();
    for (int i = 0; i < tiles; ++i) {
        next = 1 - next;
        if (i + 1 < tiles) load(i + 1, next);
        for (int j = 0; j < kTile; ++j)
            value = fmaf(tile_a[1 - next][threadIdx.y][j], tile_b[1 - next][j][threadIdx.x], value);
        __syncthreads();
    }
    if (row < m && column < k) c[row * k + column] = value;
}

constexpr int kSide = 128, kDeep = 8, kOwn = 8;

__global__ void results_8x8(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float tile_a[kSide][kDeep], tile_b[kDeep][kSide];
    const int top = blockIdx.y * kSide, left = blockIdx.x * kSide, thread = threadIdx.x;
    const int my_row = thread / (kSide / kOwn), my_column = thread % (kSide / kOwn);
    float values[kOwn][kOwn] = {}, from_a[kOwn], from_b[kOwn];
    const int rows_a = blockDim.x / kDeep, y_a = thread / kDeep, x_a = thread % kDeep;
    const int rows_b = blockDim.x / kSide, y_b = thread / kSide, x_b = thread % kSide;
    for (int first = 0; first < k; first += kDeep) {
        for (int offset = 0; offset < kSide; offset += rows_a) {
            const int y = top + y_a + offset, x = first + x_a;
            if (y < m && x < k) tile_a[y_a + offset][x_a] = a[y * k + x];
            else tile_a[y_a + offset][x_a] = 0.0f;
        }
        for (int offset = 0; offset < kDeep; offset += rows_b) {
            const int y = first + y_b + offset, x = left + x_b;
            if (y < k && x < n) tile_b[y_b + offset][x_b] = b[y * n + x];
            else tile_b[y_b + offset][x_b] = 0.0f;
        }
        __syncthreads();
        for (int j = 0; j < kDeep; ++j) {
            for (int i = 0; i < kOwn; ++i) from_a[i] = tile_a[my_row * kOwn + i][j];
            for (int i = 0; i < kOwn; ++i) from_b[i] = tile_b[j][my_column * kOwn + i];
            for (int i = 0; i < kOwn; ++i)
                for (int l = 0; l < kOwn; ++l) values[i][l] = fmaf(from_a[i], from_b[l], values[i][l]);
        }
        __syncthreads();
    }
    for (int i = 0; i < kOwn; ++i)
        for (int l = 0; l < kOwn; ++l) {
            const int y = top + my_row * kOwn + i, x = left + my_column * kOwn + l;
            if (y < m && x < n) c[y * n + x] = values[i][l];
        }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024}, {136});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(size_t(n) * n), b(size_t(n) * n), c(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        for (int row = 0; row < n; ++row)
            for (int column = 0; column < n; ++column) {
                float value = 0.0f;
                for (int j = 0; j < n; ++j) value += a.host[row * n + j] * b.host[j * n + column];
                expected.push_back(value);
            }
    }
    auto check = [&] { return chain::close(c, expected, 1e-4); };
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    const dim3 block(kTile, kTile), grid(chain::ceil_div(n, kTile), chain::ceil_div(n, kTile));
    const int wide = chain::ceil_div(n, kTile * kEach), squares = chain::ceil_div(n, kSide);
    run.variant("tiles", [&] { tiles<<<grid, block>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("tiles_in_a_row", [&] { tiles_in_a_row<<<dim3(wide, grid.y), block>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("results_4x4", [&] { results_4x4<<<dim3(wide, wide), block>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("vectors", [&] { vectors<<<grid, block>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("two_buffers", [&] { two_buffers<<<grid, block>>>(a, b, c, n, n, n); }, check, prepare);
    run.variant("results_8x8", [&] { results_8x8<<<dim3(squares, squares), 256>>>(a, b, c, n, n, n); }, check, prepare);
    return run.finish();
}
