// A row softmax and a tiled matrix product, each compared with the same computation on the CPU.
//   evoengineer sim run examples/softmax.cu
// Times come from CUDA events. On the simulated GPU they are simulated, and the output says so.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        cudaError_t status = (call);                                                            \
        if (status != cudaSuccess) {                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)); \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

constexpr int kTile = 16;

template <typename Combine>
__device__ float reduce_block(float value, float neutral, float* scratch, Combine combine) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    int warps = blockDim.x / warpSize;
    value = lane < warps ? scratch[lane] : neutral;
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads();  // the scratch is free again
    return value;
}

// One block per row; blockDim.x is a multiple of the warp size.
__global__ void softmax_rows(const float* input, float* output, int columns) {
    __shared__ float scratch[32];
    const float* row = input + size_t(blockIdx.x) * columns;
    float* result = output + size_t(blockIdx.x) * columns;

    float largest = -FLT_MAX;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, row[i]);
    largest = reduce_block(largest, -FLT_MAX, scratch, [](float a, float b) { return fmaxf(a, b); });

    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - largest);
    sum = reduce_block(sum, 0, scratch, [](float a, float b) { return a + b; });

    for (int i = threadIdx.x; i < columns; i += blockDim.x) result[i] = expf(row[i] - largest) / sum;
}

// c = a * b for square matrices of any size.
__global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
    int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < n; start += kTile) {
        int k = start + threadIdx.x, l = start + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < n && k < n ? a[row * n + k] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = l < n && column < n ? b[l * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

std::vector<float> random_values(size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = float(seed >> 8) / float(1 << 24) * 4 - 2;
    }
    return values;
}

struct DeviceArray {
    float* data = nullptr;
    explicit DeviceArray(size_t count) { CHECK(cudaMalloc(&data, count * sizeof(float))); }
    explicit DeviceArray(const std::vector<float>& values) : DeviceArray(values.size()) {
        CHECK(cudaMemcpy(data, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    }
    ~DeviceArray() { cudaFree(data); }
};

// Runs `launch`, copies its result back, compares it with `expected` and prints one line.
template <typename Launch>
bool verify(const char* what, const DeviceArray& result, const std::vector<double>& expected, Launch launch) {
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));

    std::vector<float> found(expected.size());
    CHECK(cudaMemcpy(found.data(), result.data, found.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        double error = std::fabs(found[i] - expected[i]) / std::max(1e-6, std::fabs(expected[i]));
        worst = error <= worst ? worst : error;  // keeps a NaN
    }
    bool good = worst < 1e-3;
    const char* clock = getenv("EVOENGINEER_SIM_FD") ? "simulated" : "measured";
    printf("%-20s %s, worst relative error %.1e, %s time %.1f us\n", what, good ? "verified" : "WRONG", worst, clock,
           milliseconds * 1e3);
    return good;
}

bool run_softmax(int rows, int columns) {
    std::vector<float> input = random_values(size_t(rows) * columns, 1);
    std::vector<double> expected(input.size());
    for (int r = 0; r < rows; ++r) {
        const float* row = &input[size_t(r) * columns];
        double largest = *std::max_element(row, row + columns), sum = 0;
        for (int i = 0; i < columns; ++i) sum += std::exp(row[i] - largest);
        for (int i = 0; i < columns; ++i) expected[size_t(r) * columns + i] = std::exp(row[i] - largest) / sum;
    }
    DeviceArray from(input), to(input.size());
    char what[64];
    snprintf(what, sizeof what, "softmax %d x %d", rows, columns);
    return verify(what, to, expected, [&] { softmax_rows<<<rows, 256>>>(from.data, to.data, columns); });
}

bool run_matmul(int n) {
    std::vector<float> a = random_values(size_t(n) * n, 2), b = random_values(size_t(n) * n, 3);
    for (float& value : a) value += 3;  // all positive, so that no sum cancels
    for (float& value : b) value += 3;
    std::vector<double> expected(a.size());
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j) expected[size_t(i) * n + j] += double(a[size_t(i) * n + k]) * b[size_t(k) * n + j];
    DeviceArray first(a), second(b), product(a.size());
    int blocks = (n + kTile - 1) / kTile;
    char what[64];
    snprintf(what, sizeof what, "matmul %d x %d", n, n);
    return verify(what, product, expected, [&] {
        matmul_tiled<<<dim3(blocks, blocks), dim3(kTile, kTile)>>>(first.data, second.data, product.data, n);
    });
}

int main() {
    cudaDeviceProp card;
    CHECK(cudaGetDeviceProperties(&card, 0));
    printf("%s, compute capability %d.%d, %d SMs\n", card.name, card.major, card.minor, card.multiProcessorCount);
    bool good = run_softmax(512, 1000);
    good = run_softmax(64, 4096) && good;
    good = run_matmul(200) && good;
    printf("%s\n", good ? "all results verified" : "SOME RESULTS ARE WRONG");
    return good ? 0 : 1;
}
