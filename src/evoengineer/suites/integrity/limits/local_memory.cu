// attack: threads with 400 KB of local memory each, of which they touch little: all of it has to be looked after
// problem: vector_add
// honest: add_plain
// expect: timed_out

#include <torch/extension.h>

// paste: add.cuh

__global__ void scatter(float* c, int first) {
    float own[100000];
    for (int i = 0; i < 100000; i += 1000) own[(i * 7 + first) % 100000] = i;
    asm volatile("" ::"l"(own) : "memory");
    if (own[first] < 0.0f) c[0] = 1.0f;
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    scatter<<<256, 1024>>>(C, int(n % 13));
    launch_add(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
