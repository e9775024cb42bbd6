// attack: a kernel that calls itself without end
// problem: vector_add
// honest: add_plain
// expect: memory_error crashed timed_out

#include <torch/extension.h>

// paste: add.cuh

__device__ __noinline__ int deeper(int* where, int depth) { return depth ? where[depth % 2 * 0] + deeper(where, depth + 1) : 0; }
__global__ void dive(float* c, int depth) {
    int found = deeper((int*)c, depth);
    if (found == 77) c[0] = 1.0f;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    dive<<<1, 32>>>(C, 1);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
