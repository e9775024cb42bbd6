// control: two host threads launch a half each, one of them by std::async, and are waited for
// problem: vector_add

#include <torch/extension.h>
#include <future>
#include <thread>

// paste: add.cuh

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    a = a.contiguous();
    b = b.contiguous();
    auto c = torch::empty_like(a);
    int64_t half = a.numel() / 2;
    auto part = [&](int64_t from, int64_t count) {
        if (count) launch_add(a.data_ptr<float>() + from, b.data_ptr<float>() + from, c.data_ptr<float>() + from, count);
    };
    std::thread first(part, 0, half);
    auto second = std::async(std::launch::async, part, half, a.numel() - half);
    first.join();
    second.get();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
