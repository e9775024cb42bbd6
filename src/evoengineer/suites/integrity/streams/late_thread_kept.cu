// attack: a thread of the call before launches the kernel, and is joined in the next call
// problem: vector_add
// honest: add_joined_threads
// expect: dishonest

#include <torch/extension.h>
#include <thread>

// paste: add.cuh

__global__ void nothing() {}

struct Worker {
    std::thread thread;
    ~Worker() {
        if (thread.joinable()) thread.join();
    }
};

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    static Worker worker;
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    if (worker.thread.joinable()) worker.thread.join();
    worker.thread = std::thread([a, b, c] {
        launch_add(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel());
    });
    nothing<<<1, 32>>>();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
