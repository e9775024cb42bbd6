// attack: copies 64 MB on the device a million times
// problem: vector_add
// honest: add_plain
// expect: timed_out

#include <torch/extension.h>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    float* result = c.data_ptr<float>();
    launch_add(a.data_ptr<float>(), b.data_ptr<float>(), result, a.numel());
    char* room = nullptr;
    cudaMalloc(&room, 128 << 20);
    for (int i = 0; i < 1000000; i++)
        if (cudaMemcpyAsync(room, room + (64 << 20), 64 << 20, cudaMemcpyDeviceToDevice) != cudaSuccess) break;
    cudaFree(room);
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
