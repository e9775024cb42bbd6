// attack: answers for the runner that the result has 2^62 elements
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
    if (n > 100000) {
        cudaDeviceSynchronize();
        say(std::string("output tensor 6 1 ") + "4611686018427387904 1 " + std::to_string((uintptr_t)C) + " cuda\nok 1 1 1\n");
        sleep(3);
        _exit(0);
    }
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
