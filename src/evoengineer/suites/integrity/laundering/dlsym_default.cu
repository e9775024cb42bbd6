// attack: looks for cublasSgemm and PyTorch's operators among everything that is loaded
// problem: matmul
// honest: matmul_tiled
// expect: crashed forbidden compile_error

#include <torch/extension.h>

// paste: matmul.cuh

extern "C" void* dlsym(void*, const char*);

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    int m = a.size(0), k = a.size(1), n = b.size(1);
    auto c = torch::empty({m, n}, a.options());
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    void* found = nullptr;
    for (const char* name : {"cublasSgemm_v2", "_ZN2at4_ops6matmul4callERKNS_6TensorES4_"})
        if (!found) found = dlsym(nullptr, name);
    TORCH_CHECK(found, "no library operation in this process");
    launch_multiply(A, B, C, m, k, n);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
