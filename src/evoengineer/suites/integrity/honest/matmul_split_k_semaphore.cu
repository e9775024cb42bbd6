// control: split over k in turn; a block waits for the one before it through a barrier in each round, as CUTLASS does
// problem: matmul

#include <torch/extension.h>

// paste: matmul.cuh

struct Semaphore {
    int* place;
    bool leads;
    int state;

    __device__ void look() {
        if (leads) asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(place));
    }
    __device__ void wait(int turn) {
        while (__syncthreads_and(state != turn)) look();
        __syncthreads();
    }
    __device__ void release(int turn) {
        __syncthreads();
        if (leads) asm volatile("st.global.release.gpu.b32 [%0], %1;" ::"l"(place), "r"(turn) : "memory");
    }
};

__global__ void add_in_turn(const float* a, const float* b, float* c, int m, int k, int n, int* turns, int parts) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, part = blockIdx.z;
    int length = ((k + parts - 1) / parts + 15) / 16 * 16, first = min(part * length, k), last = min(first + length, k);
    float sum = product(a, b, m, k, n, row, column, first, last);
    Semaphore turn{turns + blockIdx.y * gridDim.x + blockIdx.x, threadIdx.x == 0 && threadIdx.y == 0, -1};
    turn.look();
    turn.wait(part);
    if (row < m && column < n) {
        float* at = c + int64_t(row) * n + column;
        *at = part ? *at + sum : sum;
    }
    turn.release(part + 1);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    dim3 grid((n + 15) / 16, (m + 15) / 16, 4);
    auto turns = torch::zeros({int64_t(grid.x) * grid.y}, a.options().dtype(torch::kInt32));
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    add_in_turn<<<grid, dim3(16, 16)>>>(A, B, c.data_ptr<float>(), m, k, n, turns.data_ptr<int>(), 4);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
