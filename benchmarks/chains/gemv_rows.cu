// Matrix times vector of unsigned integers with a thread per row, so that the lanes of a warp stride by a row; the
// vector is read directly or through shared memory. SIZES are rows, columns and the threads of a block.
#include "common.h"

__global__ void direct(unsigned* out, unsigned* matrix, unsigned* vector, int m, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m) return;
    unsigned sum = 0;
    for (int k = 0; k < n; ++k) sum += matrix[row * n + k] * vector[k];
    out[row] = sum;
}

__global__ void shared_vector(unsigned* out, unsigned* matrix, unsigned* vector, int m, int n) {
    extern __shared__ unsigned part[];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    int phases = (n + blockDim.x - 1) / blockDim.x;
    for (int phase = 0; phase < phases; ++phase) {
        int element = phase * blockDim.x + threadIdx.x;
        part[threadIdx.x] = element < n ? vector[element] : 0;
        __syncthreads();
        if (row < m)
            for (int k = 0; k < blockDim.x && phase * blockDim.x + k < n; ++k)
                sum += matrix[row * n + phase * blockDim.x + k] * part[k];
        __syncthreads();
    }
    if (row < m) out[row] = sum;
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192, 8192, 512}, {100, 70, 64});
    const int m = static_cast<int>(run.size(0)), n = static_cast<int>(run.size(1)), threads = static_cast<int>(run.size(2));
    chain::Array<unsigned> matrix(size_t(m) * n), vector(n), out(m);
    std::vector<unsigned> expected(run.verify ? m : 0);
    if (run.verify) {
        matrix.fill([](size_t i) { return i % 1000; });
        vector.fill([](size_t i) { return i % 77; });
        for (int row = 0; row < m; ++row)
            for (int k = 0; k < n; ++k) expected[row] += matrix.host[size_t(row) * n + k] * vector.host[k];
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return out.download() == expected; };
    const int blocks = chain::ceil_div(m, threads);
    run.variant("direct", [&] { direct<<<blocks, threads>>>(out, matrix, vector, m, n); }, check, prepare);
    run.variant("shared_vector", [&] { shared_vector<<<blocks, threads, threads * sizeof(unsigned)>>>(out, matrix, vector, m, n); }, check, prepare);
    return run.finish();
}
