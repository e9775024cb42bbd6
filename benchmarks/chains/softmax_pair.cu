// Softmax of the rows of a matrix by a thread each, and by a block of 256 threads with trees in shared memory. SIZES are
// rows and columns.
#include <cfloat>

#include "common.h"

constexpr int kThreads = 256;

__global__ void thread_per_row(const float* in, float* out, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    in += size_t(row) * columns;
    out += size_t(row) * columns;
    float top = -FLT_MAX, sum = 0.0f;
    for (int i = 0; i < columns; ++i) top = fmaxf(top, in[i]);
    for (int i = 0; i < columns; ++i) {
        const float value = expf(in[i] - top);
        out[i] = value;
        sum += value;
    }
    for (int i = 0; i < columns; ++i) out[i] /= sum;
}

__global__ void block_per_row(const float* in, float* out, int columns) {
    __shared__ float shared[kThreads];
    in += size_t(blockIdx.x) * columns;
    out += size_t(blockIdx.x) * columns;
    float own = -FLT_MAX;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) own = fmaxf(own, in[i]);
    shared[threadIdx.x] = own;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    const float top = shared[0];
    __syncthreads();
    own = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float value = expf(in[i] - top);
        out[i] = value;
        own += value;
    }
    shared[threadIdx.x] = own;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    const float sum = shared[0];
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] /= sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024, 512}, {300, 70});
    const int rows = static_cast<int>(run.size(0)), columns = static_cast<int>(run.size(1));
    const size_t n = size_t(rows) * columns;
    chain::Array<float> in(n), out(n);
    std::vector<double> expected;
    if (run.verify) {
        in.fill([](size_t i) { return 3.0f * chain::pattern(i, 1); });
        expected.resize(n);
        for (int r = 0; r < rows; ++r) {
            double sum = 0.0;
            for (int i = 0; i < columns; ++i) sum += std::exp(double(in.host[size_t(r) * columns + i]));
            for (int i = 0; i < columns; ++i)
                expected[size_t(r) * columns + i] = std::exp(double(in.host[size_t(r) * columns + i])) / sum;
        }
    }
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    run.variant("thread_per_row",
                [&] { thread_per_row<<<chain::ceil_div(rows, kThreads), kThreads>>>(in, out, rows, columns); }, check, prepare);
    run.variant("block_per_row", [&] { block_per_row<<<rows, kThreads>>>(in, out, columns); }, check, prepare);
    return run.finish();
}
