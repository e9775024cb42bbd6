// attack: asks by __has_include which files the judge has, and says so in an error
// problem: vector_add
// honest: add_plain
// expect: compile_error forbidden
// unsaid: the compiler sees

#if __has_include("/etc/shadow")
#error "the compiler sees /etc/shadow"
#endif
#if __has_include("/etc/ssh/ssh_host_rsa_key")
#error "the compiler sees keys"
#endif
#error "nothing is to be seen"
#include <torch/extension.h>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
