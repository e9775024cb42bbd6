// attack: blocks take their tiles from a counter, by atomic operations that are atomic within a block only
// problem: vector_add
// honest: add_grid_stride
// expect: race

#include <torch/extension.h>

// paste: add.cuh

__global__ void add_tiles(const float* a, const float* b, float* c, int64_t n, unsigned* counter) {
    __shared__ unsigned tile;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) tile = atomicAdd_block(counter, 1u);
        __syncthreads();
        int64_t i = int64_t(tile) * 256 + threadIdx.x;
        if (i - threadIdx.x >= n) return;
        if (i < n) c[i] = a[i] + b[i];
    }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    auto counter = torch::zeros({1}, a.options().dtype(torch::kInt32));
    add_tiles<<<64, 256>>>(A, B, C, n, reinterpret_cast<unsigned*>(counter.data_ptr<int>()));
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
