#include <torch/extension.h>

constexpr int THREADS = 256;

// One block per row. It walks over the row in tiles of one element per thread, scans each in shared memory by
// doubling distances, and carries the sum of all the tiles before.
__global__ void exclusive_cumsum(const float* x, float* y, int columns) {
    __shared__ float scan[THREADS];
    int64_t first = static_cast<int64_t>(blockIdx.x) * columns;
    x += first;
    y += first;

    float carry = 0.0f;
    for (int start = 0; start < columns; start += THREADS) {
        int column = start + threadIdx.x;
        scan[threadIdx.x] = column < columns ? x[column] : 0.0f;
        __syncthreads();
        for (int distance = 1; distance < THREADS; distance *= 2) {
            float before = threadIdx.x >= distance ? scan[threadIdx.x - distance] : 0.0f;
            __syncthreads();
            scan[threadIdx.x] += before;
            __syncthreads();
        }
        if (column < columns) y[column] = carry + (threadIdx.x > 0 ? scan[threadIdx.x - 1] : 0.0f);
        carry += scan[THREADS - 1];
        __syncthreads();
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 2, "x must be a matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    exclusive_cumsum<<<x.size(0), THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Exclusive cumulative sum along the rows of a matrix: all the elements before");
}
