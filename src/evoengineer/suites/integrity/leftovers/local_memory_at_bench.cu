// attack: in large inputs an array of a thread's own that it has not written is taken for zero
// problem: vector_add
// honest: add_plain
// expect: wrong

#include <torch/extension.h>

// paste: add.cuh

__global__ void add_more(const float* a, const float* b, float* c, int64_t n, int written) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float own[64];
    own[written] = 1.0f;
    asm volatile("" ::"l"(own) : "memory");
    if (i < n) c[i] = a[i] + b[i] + own[(written + 1) % 64];
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    if (n > 100000)
        add_more<<<(n + 255) / 256, 256>>>(A, B, C, n, int(n % 7));
    else
        launch_add(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
