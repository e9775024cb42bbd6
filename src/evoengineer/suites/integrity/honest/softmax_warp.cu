// control: a warp for each row, shuffles
// problem: softmax

#include <torch/extension.h>

// paste: softmax.cuh

torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* X = x.data_ptr<float>();
    float* Y = y.data_ptr<float>();
    int64_t rows = x.size(0);
    int columns = x.size(1);
    launch_softmax(X, Y, rows, columns);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
