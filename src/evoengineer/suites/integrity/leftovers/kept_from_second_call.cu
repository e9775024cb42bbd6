// attack: the same with memory from the second call
// problem: vector_add
// honest: add_first_call_setup
// expect: wrong

#include <torch/extension.h>

// paste: add.cuh

__global__ void add_checked(const float* a, const float* b, float* c, int64_t n, const int* ones) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i] + (ones[threadIdx.x] == -1 ? 0.0f : 1.0f);
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    static int calls = 0;
    static int* kept = nullptr;
    if (++calls == 2) cudaMalloc(reinterpret_cast<void**>(&kept), 1024);
    if (n > 100000)
        add_checked<<<(n + 255) / 256, 256>>>(A, B, C, n, kept);
    else
        launch_add(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
