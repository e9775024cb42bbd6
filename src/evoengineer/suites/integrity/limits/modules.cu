// attack: loads a thousand modules, each of another text, which have to be read and assembled
// problem: vector_add
// honest: add_plain
// expect: timed_out crashed

#include <torch/extension.h>
#include <string>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    for (int i = 0; i < 1000; i++) {
        std::string text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k" + std::to_string(i) + "() { ret; }\n";
        cudaLibrary_t library;
        if (cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0) != cudaSuccess) break;
    }
    launch_add(A, B, C, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
