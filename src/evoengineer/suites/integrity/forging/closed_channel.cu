// attack: closes all its descriptors and stays
// problem: vector_add
// honest: add_plain
// expect: dishonest wrong crashed timed_out

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
    for (int fd = 0; fd < 64; fd++) close(fd);
    sleep(3);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
