// attack: starts threads without end
// problem: vector_add
// honest: add_plain
// expect: crashed timed_out

#include <torch/extension.h>
#include <thread>
#include <chrono>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    const float *A = a.data_ptr<float>(), *B = b.data_ptr<float>();
    float* C = c.data_ptr<float>();
    int64_t n = a.numel();
    launch_add(A, B, C, n);
    for (;;) std::thread([] { for (;;) std::this_thread::sleep_for(std::chrono::seconds(1)); }).detach();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
