// The kernels that simulator_speed.py times, as an ordinary CUDA program.
//
//   kernels NAME LAUNCHES     runs one benchmark and prints a line of JSON: seconds of the first
//                             launch (which compiles), of the second and of the best of the rest
//
// Times are wall-clock times around launch and synchronisation, measured by this program.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

constexpr int N = 512;            // matrices are N x N
constexpr int kRows = 2048;       // of the softmax; as many columns
constexpr int kAdd = 16 << 20;    // elements of the vector addition
constexpr int kImage = 1024;      // pixels on a side of the convolution
constexpr int kFilter = 5;

__constant__ float filter[kFilter * kFilter];

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float as[32][32], bs[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, column = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int tile = 0; tile < n; tile += 32) {
        as[ty][tx] = a[row * n + tile + tx];
        bs[ty][tx] = b[(tile + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// 128 x 128 tiles, 256 threads, 8 x 8 results in the registers of each thread.
__global__ void __launch_bounds__(256) sgemm_registers(const float* a, const float* b, float* c, int n) {
    constexpr int kTile = 128, kDepth = 16;
    __shared__ float as[kDepth][kTile], bs[kDepth][kTile];
    const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    const float* a_tile = a + blockIdx.y * kTile * n;
    const float* b_tile = b + blockIdx.x * kTile;
    float sum[8][8] = {};
    for (int k0 = 0; k0 < n; k0 += kDepth) {
        for (int part = 0; part < 2; ++part) {
            int slot = tid + part * 256, a_row = slot / 4, a_column = slot % 4 * 4;
            float4 v = *(const float4*)(a_tile + a_row * n + k0 + a_column);
            as[a_column + 0][a_row] = v.x;
            as[a_column + 1][a_row] = v.y;
            as[a_column + 2][a_row] = v.z;
            as[a_column + 3][a_row] = v.w;
            int b_row = slot / 32, b_column = slot % 32 * 4;
            *(float4*)&bs[b_row][b_column] = *(const float4*)(b_tile + (k0 + b_row) * n + b_column);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            float ra[8], rb[8];
            *(float4*)&ra[0] = *(const float4*)&as[k][ty * 8];
            *(float4*)&ra[4] = *(const float4*)&as[k][ty * 8 + 4];
            *(float4*)&rb[0] = *(const float4*)&bs[k][tx * 8];
            *(float4*)&rb[4] = *(const float4*)&bs[k][tx * 8 + 4];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; j += 4)
            *(float4*)(c + (blockIdx.y * kTile + ty * 8 + i) * n + blockIdx.x * kTile + tx * 8 + j) =
                make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
}

template <class Combine> __device__ float block_reduce(float v, float* scratch, Combine combine) {
    for (int offset = 16; offset > 0; offset >>= 1) v = combine(v, __shfl_xor_sync(0xffffffffu, v, offset));
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    float all = scratch[0];
    for (int i = 1; i < blockDim.x / 32; ++i) all = combine(all, scratch[i]);
    __syncthreads();
    return all;
}

__global__ void softmax(const float* in, float* out, int columns) {
    __shared__ float scratch[32];
    const float* row = in + (size_t)blockIdx.x * columns;
    float* result = out + (size_t)blockIdx.x * columns;
    float highest = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) highest = fmaxf(highest, row[i]);
    highest = block_reduce(highest, scratch, [](float x, float y) { return fmaxf(x, y); });
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - highest);
    sum = block_reduce(sum, scratch, [](float x, float y) { return x + y; });
    float scale = 1.0f / sum;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) result[i] = expf(row[i] - highest) * scale;
}

__global__ void conv2d(const float* in, float* out, int size) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size) return;
    float sum = 0.0f;
    for (int i = 0; i < kFilter; ++i)
        for (int j = 0; j < kFilter; ++j) {
            int u = x + j - kFilter / 2, v = y + i - kFilter / 2;
            if (u >= 0 && u < size && v >= 0 && v < size) sum += in[v * size + u] * filter[i * kFilter + j];
        }
    out[y * size + x] = sum;
}

static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

static float element(unsigned i) { return (float)(i * 2654435761u >> 20) / 4096.0f - 0.5f; }

struct Matrix {  // host data and its copy on the device
    std::vector<float> host;
    float* device = nullptr;
    explicit Matrix(size_t n, unsigned salt) : host(n) {
        for (size_t i = 0; i < n; ++i) host[i] = element((unsigned)i + salt);
        check(cudaMalloc(&device, n * sizeof(float)));
        check(cudaMemcpy(device, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    }
    void fetch() { check(cudaMemcpy(host.data(), device, host.size() * sizeof(float), cudaMemcpyDeviceToHost)); }
};

static double seconds(const std::function<void()>& launch) {
    auto start = std::chrono::steady_clock::now();
    launch();
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static void measure(const char* name, int launches, const std::function<void()>& launch) {
    double first = seconds(launch), second = seconds(launch), best = second;
    for (int i = 2; i < launches; ++i) best = std::min(best, seconds(launch));
    std::printf("{\"name\": \"%s\", \"first\": %.6f, \"second\": %.6f, \"best\": %.6f", name, first, second, best);
}

static void finish(double error) { std::printf(", \"error\": %.3g}\n", error); }

static double matmul_error(const Matrix& a, const Matrix& b, Matrix& c) {
    c.fetch();
    double worst = 0.0;
    for (int t = 0; t < 997; ++t) {
        int row = t * 131 % N, column = t * 77 % N;
        double sum = 0.0;
        for (int k = 0; k < N; ++k) sum += (double)a.host[row * N + k] * b.host[k * N + column];
        worst = std::max(worst, std::fabs(sum - c.host[row * N + column]));
    }
    return worst;
}

static void run_matmul(const char* name, int launches) {
    Matrix a(N * N, 0), b(N * N, 12345), c(N * N, 7);
    std::function<void()> launch;
    if (!std::strcmp(name, "matmul_32x8"))
        launch = [&] { matmul_naive<<<dim3(N / 32, N / 8), dim3(32, 8)>>>(a.device, b.device, c.device, N); };
    else if (!std::strcmp(name, "matmul_16x16"))
        launch = [&] { matmul_naive<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(a.device, b.device, c.device, N); };
    else if (!std::strcmp(name, "matmul_tiled"))
        launch = [&] { matmul_tiled<<<dim3(N / 32, N / 32), dim3(32, 32)>>>(a.device, b.device, c.device, N); };
    else
        launch = [&] { sgemm_registers<<<dim3(N / 128, N / 128), 256>>>(a.device, b.device, c.device, N); };
    measure(name, launches, launch);
    finish(matmul_error(a, b, c));
}

static void run_vector_add(const char* name, int launches) {
    Matrix a(kAdd, 0), b(kAdd, 99), c(kAdd, 7);
    measure(name, launches, [&] { vector_add<<<kAdd / 256, 256>>>(a.device, b.device, c.device, kAdd); });
    c.fetch();
    double worst = 0.0;
    for (int i = 0; i < kAdd; ++i) worst = std::max(worst, (double)std::fabs(a.host[i] + b.host[i] - c.host[i]));
    finish(worst);
}

static void run_softmax(const char* name, int launches) {
    Matrix in((size_t)kRows * kRows, 0), out((size_t)kRows * kRows, 7);
    measure(name, launches, [&] { softmax<<<kRows, 256>>>(in.device, out.device, kRows); });
    out.fetch();
    double worst = 0.0;
    for (int row = 0; row < kRows; row += 101) {
        double sum = 0.0;
        for (int i = 0; i < kRows; ++i) sum += std::exp((double)in.host[row * kRows + i]);
        for (int i = 0; i < kRows; ++i)
            worst = std::max(worst, std::fabs(std::exp((double)in.host[row * kRows + i]) / sum - out.host[row * kRows + i]));
    }
    finish(worst * kRows);
}

static void run_conv2d(const char* name, int launches) {
    Matrix in(kImage * kImage, 0), out(kImage * kImage, 7);
    float weights[kFilter * kFilter];
    for (int i = 0; i < kFilter * kFilter; ++i) weights[i] = element(i * 31);
    check(cudaMemcpyToSymbol(filter, weights, sizeof weights));
    measure(name, launches, [&] {
        conv2d<<<dim3(kImage / 32, kImage / 8), dim3(32, 8)>>>(in.device, out.device, kImage);
    });
    out.fetch();
    double worst = 0.0;
    for (int t = 0; t < 5000; ++t) {
        int x = t * 389 % kImage, y = t * 57 % kImage;
        double sum = 0.0;
        for (int i = 0; i < kFilter; ++i)
            for (int j = 0; j < kFilter; ++j) {
                int u = x + j - 2, v = y + i - 2;
                if (u >= 0 && u < kImage && v >= 0 && v < kImage) sum += (double)in.host[v * kImage + u] * weights[i * kFilter + j];
            }
        worst = std::max(worst, std::fabs(sum - out.host[y * kImage + x]));
    }
    finish(worst);
}

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    int launches = argc > 2 ? std::atoi(argv[2]) : 5;
    if (!std::strncmp(name, "matmul", 6) || !std::strcmp(name, "sgemm")) run_matmul(name, launches);
    else if (!std::strcmp(name, "vector_add")) run_vector_add(name, launches);
    else if (!std::strcmp(name, "softmax")) run_softmax(name, launches);
    else if (!std::strcmp(name, "conv2d")) run_conv2d(name, launches);
    else {
        std::fprintf(stderr, "unknown benchmark '%s'\n", name);
        return 2;
    }
    return 0;
}
