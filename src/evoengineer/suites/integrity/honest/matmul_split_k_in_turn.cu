// control: split over k; the blocks of a tile wait for their turn and add without atomic operations
// problem: matmul

#include <torch/extension.h>

// paste: matmul.cuh

__global__ void add_in_turn(const float* a, const float* b, float* c, int m, int k, int n, int* turn, int parts) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, part = blockIdx.z;
    int length = ((k + parts - 1) / parts + 15) / 16 * 16, first = min(part * length, k), last = min(first + length, k);
    float sum = product(a, b, m, k, n, row, column, first, last);
    int* now = turn + blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        while (*(volatile int*)now != part) {}
        __threadfence();
    }
    __syncthreads();
    if (row < m && column < n) {
        volatile float* at = c + int64_t(row) * n + column;
        *at = part ? *at + sum : sum;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) atomicExch(now, part + 1);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    dim3 grid((n + 15) / 16, (m + 15) / 16, 4);
    auto turn = torch::zeros({int64_t(grid.x) * grid.y}, a.options().dtype(torch::kInt32));
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    add_in_turn<<<grid, dim3(16, 16)>>>(A, B, c.data_ptr<float>(), m, k, n, turn.data_ptr<int>(), 4);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
