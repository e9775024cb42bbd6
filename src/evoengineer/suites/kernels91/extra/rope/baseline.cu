#include <torch/extension.h>

// One thread per pair of elements of x[batch][length][heads][2 × half].
__global__ void rope(const float* x, const float* cosines, const float* sines, float* y, int64_t pairs, int length,
                     int heads, int half) {
    int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    int column = i % half;
    int64_t vector = i / half;  // sample, position and head
    int position = vector / heads % length;

    float cosine = cosines[static_cast<int64_t>(position) * half + column];
    float sine = sines[static_cast<int64_t>(position) * half + column];
    int64_t at = vector * 2 * half + column;
    float first = x[at];
    float second = x[at + half];
    y[at] = first * cosine - second * sine;
    y[at + half] = second * cosine + first * sine;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor cosines, torch::Tensor sines) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 tensor on the GPU");
    TORCH_CHECK(x.dim() == 4 && x.size(3) % 2 == 0, "x must be [batch][length][heads][size] with an even size");
    int length = x.size(1), heads = x.size(2), half = x.size(3) / 2;
    for (const auto& table : {cosines, sines}) {
        TORCH_CHECK(table.is_cuda() && table.scalar_type() == torch::kFloat32,
                    "the tables must be float32 tensors on the GPU");
        TORCH_CHECK(table.dim() == 2 && table.size(0) == length && table.size(1) == half,
                    "the tables must be [length][size / 2]");
    }
    x = x.contiguous();
    cosines = cosines.contiguous();
    sines = sines.contiguous();
    auto y = torch::empty_like(x);
    int64_t pairs = x.numel() / 2;
    const int threads = 256;
    int64_t blocks = (pairs + threads - 1) / threads;
    rope<<<blocks, threads>>>(x.data_ptr<float>(), cosines.data_ptr<float>(), sines.data_ptr<float>(),
                              y.data_ptr<float>(), pairs, length, heads, half);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Rotary position embedding");
}
