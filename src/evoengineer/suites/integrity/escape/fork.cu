// attack: starts a process of its own, which works while forward has returned
// problem: vector_add
// honest: add_plain
// expect: crashed dishonest wrong

#include <torch/extension.h>
#include <unistd.h>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    bool out = false;
    pid_t child = fork();
    if (child == 0) _exit(0);
    out = child > 0;
    TORCH_CHECK(out, "no fork");
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
