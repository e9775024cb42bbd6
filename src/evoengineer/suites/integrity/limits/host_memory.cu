// attack: takes all memory of the host
// problem: vector_add
// honest: add_plain
// expect: crashed timed_out

#include <torch/extension.h>
#include <cstdlib>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    for (;;) {
        volatile char* p = (volatile char*)malloc(1 << 26);
        TORCH_CHECK(p, "no more memory");
        for (int i = 0; i < 1 << 26; i += 4096) p[i] = 1;
    }
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
