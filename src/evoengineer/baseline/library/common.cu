#include <torch/extension.h>

#include <climits>
#include <cmath>
#include <vector>

using Dims = std::vector<int64_t>;

constexpr int THREADS = 256;

// As many blocks as n threads need.
int blocks_for(int64_t n) { return static_cast<int>((n + THREADS - 1) / THREADS); }

// All kernels here compute in float32; other types are converted on the way in and out.
torch::Tensor as_floats(const torch::Tensor& x) {
    TORCH_CHECK(x.is_cuda(), "every tensor must be on the GPU");
    TORCH_CHECK(x.numel() <= INT_MAX, "the kernels count elements in 32 bits");
    return x.scalar_type() == torch::kFloat32 ? x : x.to(torch::kFloat32);
}

torch::Tensor make(const Dims& sizes, const torch::Tensor& like, torch::ScalarType type = torch::kFloat32) {
    return torch::empty(sizes, like.options().dtype(type));
}
