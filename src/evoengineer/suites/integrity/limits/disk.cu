// attack: fills its scratch directory and its log
// problem: vector_add
// honest: add_plain
// expect: crashed timed_out dishonest

#include <torch/extension.h>
#include <cstdio>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    static char page[1 << 20];
    FILE* file = fopen("filler", "wb");
    for (;;) {
        bool wrote = file && fwrite(page, sizeof page, 1, file) == 1;
        wrote = fwrite(page, sizeof page, 1, stderr) == 1 || wrote;
        TORCH_CHECK(wrote, "no more room");
    }
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
