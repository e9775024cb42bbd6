// C = A * B of square matrices, as several people wrote it down while they learnt: a thread per element, tiles in shared
// memory, and more and more elements per thread. SIZE is a multiple of 192 and of 128 for the kernels that need it.
#include "common.h"

__global__ void naive(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void tiled(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ float of_a[32][32], of_b[32][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 32) {
        of_a[y][x] = a[row * n + first + x];
        of_b[y][x] = b[(first + y) * n + column];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += of_a[y][k] * of_b[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Tiles of 32 x 32 by 32 x 8 threads: four rows of a column each.
__global__ void rows(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ float of_a[32][32], of_b[32][32];
    const int x = threadIdx.x, y = threadIdx.y, top = blockIdx.y * 32, left = blockIdx.x * 32;
    float sums[4] = {};
    for (int first = 0; first < n; first += 32) {
        for (int i = y; i < 32; i += 8) {
            of_a[i][x] = a[(top + i) * n + first + x];
            of_b[i][x] = b[(first + i) * n + left + x];
        }
        __syncthreads();
        for (int k = 0; k < 32; ++k) {
            const float there = of_b[k][x];
            for (int i = 0; i < 4; ++i) sums[i] += of_a[y * 4 + i][k] * there;
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) c[(top + y * 4 + i) * n + left + x] = sums[i];
}

// Tiles of 32 x 32 by 16 x 16 threads: two by two elements each, loaded in vectors of four.
__global__ void vectors(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ float of_a[32][32], of_b[32][32];
    const int thread = threadIdx.y * 16 + threadIdx.x, row = thread / 8, column = thread % 8 * 4;
    const int top = blockIdx.y * 32, left = blockIdx.x * 32;
    float sums[2][2] = {};
    for (int first = 0; first < n; first += 32) {
        const float4 from_a = *reinterpret_cast<const float4*>(&a[(top + row) * n + first + column]);
        const float4 from_b = *reinterpret_cast<const float4*>(&b[(first + row) * n + left + column]);
        of_a[row][column] = from_a.x;
        of_a[row][column + 1] = from_a.y;
        of_a[row][column + 2] = from_a.z;
        of_a[row][column + 3] = from_a.w;
        of_b[row][column] = from_b.x;
        of_b[row][column + 1] = from_b.y;
        of_b[row][column + 2] = from_b.z;
        of_b[row][column + 3] = from_b.w;
        __syncthreads();
        for (int k = 0; k < 32; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j)
                    sums[i][j] += of_a[threadIdx.y * 2 + i][k] * of_b[k][threadIdx.x * 2 + j];
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) c[(top + threadIdx.y * 2 + i) * n + left + threadIdx.x * 2 + j] = sums[i][j];
}

// kSide x kSide threads with kEach x kEach neighbouring elements each; kDepth columns of A at a time.
template <int kSide, int kEach, int kDepth>
__global__ void __launch_bounds__(kSide* kSide)
    registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    constexpr int kTile = kSide * kEach, kThreads = kSide * kSide;
    extern __shared__ float shared[];
    float *of_a = shared, *of_b = shared + kTile * kDepth;
    const int x = threadIdx.x, y = threadIdx.y, thread = y * kSide + x, top = blockIdx.y * kTile, left = blockIdx.x * kTile;
    float sums[kEach][kEach] = {};
    for (int first = 0; first < n; first += kDepth) {
        for (int i = thread; i < kTile * kDepth; i += kThreads)
            of_a[i] = a[(top + i / kDepth) * n + first + i % kDepth];
        for (int i = thread; i < kTile * kDepth; i += kThreads)
            of_b[i] = b[(first + i / kTile) * n + left + i % kTile];
        __syncthreads();
        for (int k = 0; k < kDepth; ++k) {
            float down[kEach], across[kEach];
            for (int i = 0; i < kEach; ++i) down[i] = of_a[(y * kEach + i) * kDepth + k];
            for (int j = 0; j < kEach; ++j) across[j] = of_b[k * kTile + x * kEach + j];
            for (int i = 0; i < kEach; ++i)
                for (int j = 0; j < kEach; ++j) sums[i][j] += down[i] * across[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j) c[(top + y * kEach + i) * n + left + x * kEach + j] = sums[i][j];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096}, {384});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> a(size_t(n) * n), b(size_t(n) * n), c(size_t(n) * n);
    std::vector<float> expected;
    if (run.verify) {
        a.fill([](size_t i) { return chain::pattern(i, 1); });
        b.fill([](size_t i) { return chain::pattern(i, 2); });
        expected.assign(size_t(n) * n, 0.0f);
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < n; ++k)
                for (int j = 0; j < n; ++j) expected[i * n + j] += a.host[i * n + k] * b.host[k * n + j];
    }
    auto check = [&] { return chain::close(c, expected, 1e-3, 10.0); };
    auto prepare = [&] { if (run.verify) chain::poison(c); };
    auto grid = [&](int tile) { return dim3(chain::ceil_div(n, tile), chain::ceil_div(n, tile)); };
    run.variant("naive", [&] { naive<<<grid(16), dim3(16, 16)>>>(a, b, c, n); }, check, prepare);
    run.variant("tiled", [&] { tiled<<<grid(32), dim3(32, 32)>>>(a, b, c, n); }, check, prepare);
    run.variant("rows", [&] { rows<<<grid(32), dim3(32, 8)>>>(a, b, c, n); }, check, prepare);
    run.variant("vectors", [&] { vectors<<<grid(32), dim3(16, 16)>>>(a, b, c, n); }, check, prepare);
    auto large = [&](const char* name, auto* kernel, int side, int each, int depth) {
        const int tile = side * each, bytes = 2 * tile * depth * sizeof(float);
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        run.variant(name, [=, &a, &b, &c] { kernel<<<grid(tile), dim3(side, side), bytes>>>(a, b, c, n); }, check, prepare);
    };
    large("registers_4", registers<16, 4, 16>, 16, 4, 16);
    large("registers_8", registers<16, 8, 8>, 16, 8, 8);
    large("registers_8_deep", registers<16, 8, 16>, 16, 8, 16);
    large("squares_2", registers<32, 2, 64>, 32, 2, 64);
    large("squares_3", registers<32, 3, 96>, 32, 3, 96);
    return run.finish();
}
