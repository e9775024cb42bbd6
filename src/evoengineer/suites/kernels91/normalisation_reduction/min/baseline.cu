#include <torch/extension.h>

#include <cmath>
#include <vector>

// x is seen as [outer][length][inner]; one thread per output reduces over the middle.
__global__ void min_over_dimension(const float* x, float* y, int64_t outer, int64_t length, int64_t inner) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= outer * inner) return;
    x += i / inner * length * inner + i % inner;
    float smallest = x[0];
    for (int64_t j = 1; j < length; ++j) smallest = fminf(smallest, x[j * inner]);
    y[i] = smallest;
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    if (dim < 0) dim += x.dim();
    TORCH_CHECK(dim >= 0 && dim < x.dim(), "dim must be a dimension of x");
    x = x.contiguous();
    int64_t outer = 1, length = x.size(dim), inner = 1;
    std::vector<int64_t> shape;
    for (int64_t d = 0; d < x.dim(); ++d) {
        if (d != dim) shape.push_back(x.size(d));
        if (d < dim) outer *= x.size(d);
        if (d > dim) inner *= x.size(d);
    }
    auto y = torch::empty(shape, x.options());
    const int threads = 256;
    int64_t blocks = (outer * inner + threads - 1) / threads;
    min_over_dimension<<<blocks, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), outer, length, inner);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Minimum over a dimension");
}
