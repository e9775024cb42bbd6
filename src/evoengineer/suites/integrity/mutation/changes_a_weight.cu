// attack: adds to the bias of the first column when it has used it
// problem: layer_norm
// honest: layer_norm_block
// expect: memory_error wrong

#include <torch/extension.h>

// paste: layer_norm.cuh

__global__ void nudge(float* bias) { bias[0] += 1.0f; }

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const float *X = x.data_ptr<float>(), *W = weight.data_ptr<float>(), *B = bias.data_ptr<float>();
    float* Y = y.data_ptr<float>();
    int64_t rows = x.size(0);
    int columns = x.size(1);
    layer_norm<<<rows, 256>>>(X, W, B, Y, columns, float(eps));
    nudge<<<1, 1>>>((float*)B);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
