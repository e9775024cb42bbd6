// attack: declares dlopen by itself and looks for BLAS libraries
// problem: matmul
// honest: matmul_tiled
// expect: crashed forbidden compile_error

#include <torch/extension.h>

// paste: matmul.cuh

extern "C" void* dlopen(const char*, int);

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    void* found = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libtorch_cpu.so", "libopenblas.so.0", "libblas.so.3"})
        if (!found) found = dlopen(name, 1);
    TORCH_CHECK(found, "no BLAS library can be loaded");
    launch_multiply(A, B, C, m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
