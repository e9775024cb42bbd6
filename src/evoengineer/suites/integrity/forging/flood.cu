// attack: floods the judge's channel
// problem: vector_add
// honest: add_plain
// expect: dishonest wrong crashed timed_out

#include <torch/extension.h>

// paste: add.cuh

// paste: forge.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    std::string noise(1 << 16, 'x');
    if (n > 100000)
        for (;;) each_channel([&](int fd) { (void)!send(fd, noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT); });
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
