// Corners of the API, one line each, that published kernels go through.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda/barrier>
#include <vector>

#define CHECK_LAST_CUDA_ERROR() check_last(__FILE__, __LINE__)
static void check_last(const char* file, int line) {
    cudaError_t const err{cudaGetLastError()};
    if (err != cudaSuccess) { std::cerr << "CUDA error at " << file << ":" << line << "\n" << cudaGetErrorString(err) << std::endl; std::exit(EXIT_FAILURE); }
}
template <typename scalar_t, int VEC>
__global__ void kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, const int64_t n) {
    extern __shared__ __align__(sizeof(double)) unsigned char memory[];
    auto* shared = reinterpret_cast<scalar_t*>(memory);
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = i < n ? __ldg(&x[i]) : scalar_t(0);
    __syncthreads();
    if (i < n) y[i] = static_cast<scalar_t>(static_cast<float>(shared[threadIdx.x]) * CUDART_PI_F + VEC);
}
__global__ void bytes(const uint8_t* a, const bool* b, int8_t* c, const int16_t* d, long* e) { *e = *a + *b + *c + *d; }

torch::Tensor options(torch::Tensor x) {
    auto a = torch::empty({4}, x.options().device(torch::kCUDA, 0).dtype(at::ScalarType::Int));
    auto b = torch::empty({2, x.size(0)}, torch::TensorOptions(torch::kFloat).device(torch::Device("cuda")));
    auto c = torch::zeros({x.size(0), -1 + 2}, torch::device(torch::kCUDA).dtype(torch::kFloat32));
    auto d = torch::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::ChannelsLast));
    auto e = torch::full({1}, -std::numeric_limits<float>::infinity(), x.options()), f = torch::zeros(1, x.options());
    auto g = torch::empty_like(x, x.options().dtype(torch::kInt64), torch::MemoryFormat::Preserve), h = torch::empty(0, x.options());
    torch::IntArrayRef shape = x.sizes();
    std::vector<int64_t> copy(shape.begin(), shape.end()), other = x.sizes().vec();
    other[0] *= 2; copy.back() = std::max({1, 2, 3});
    auto i = torch::empty(torch::IntArrayRef(other), x.options().layout(torch::kStrided)), j = torch::zeros(copy, torch::kFloat).cuda();
    auto k = x.view(-1).view({-1, 1}).reshape({x.numel()}), l = x.contiguous(at::MemoryFormat::Contiguous).to(x.device(), /*non_blocking=*/true);
    bytes<<<1, 1>>>(a.data_ptr<uint8_t>(), b.data_ptr<bool>(), c.data_ptr<int8_t>(), d.data_ptr<short>(), e.data_ptr<long>());
    return torch::Tensor();
}
std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& x, const std::optional<torch::Tensor>& weight, c10::optional<double> scale) {
    if (x.dtype() != at::ScalarType::Float && x.dtype() != torch::kDouble && x.scalar_type() != torch::ScalarType::Half) throw std::runtime_error("dtype " + std::string(x.dtype().name()));
    torch::Tensor w = weight.value_or(torch::Tensor());
    const float* pointer = weight ? weight->data_ptr<float>() : nullptr;
    TORCH_CHECK(x.device() == torch::Device(torch::kCUDA, 0) || x.device().type() == torch::kCUDA, "device ", x.device().str(), " index ", x.device().index());
    int minimum, size;
    cudaOccupancyMaxPotentialBlockSize(&minimum, &size, kernel<float, 4>, 0, 0);
    C10_CUDA_CHECK(cudaFuncSetAttribute(kernel<float, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
    auto y = torch::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.type(), "odd", [&] {
        const size_t shared = size * sizeof(scalar_t);
        kernel<scalar_t, 2><<<dim3((x.numel() + size - 1) / size, 1, 1), dim3(size), shared, c10::cuda::getCurrentCUDAStream().stream()>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
    });
    const float* in = x.data_ptr<float>(); float* out = y.data_ptr<float>(); int64_t n = x.numel();
    void* arguments[] = {&in, &out, &n};
    cudaLaunchKernel((void*)kernel<float, 4>, dim3(1), dim3(32), arguments, 256, at::cuda::getCurrentCUDAStream());
    CHECK_LAST_CUDA_ERROR();
    switch (x.scalar_type()) {
        case torch::kFloat32: break;
        case torch::ScalarType::Half: AT_ERROR("half"); break;
        default: TORCH_CHECK(false, "unsupported dtype: ", x.scalar_type(), " of ", x.dtype(), pointer != nullptr, scale.value_or(1.0));
    }
    torch::Tensor first, second;
    std::tie(first, second) = std::make_tuple(x, y);
    auto [third, fourth] = std::make_pair(first, second);
    return {third, fourth};
}
static void bind(py::module& m) { m.def("options", torch::wrap_pybind_function(&options)); }
std::array<torch::Tensor, 2> both(torch::Tensor x) { return {x, x}; }
torch::Tensor anything(py::object value, py::args rest, const py::kwargs& named) { return value.is(py::none()) ? torch::Tensor() : py::cast<torch::Tensor>(value); }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    bind(m);
    m.def("forward", static_cast<std::tuple<torch::Tensor, torch::Tensor> (*)(const torch::Tensor&, const std::optional<torch::Tensor>&, c10::optional<double>)>(&forward),
          "odd", py::arg("x"), py::arg("weight") = c10::optional<torch::Tensor>(), py::arg("scale").none(true) = 2.0);
    m.def("both", &both, R"pbdoc(Two outputs)pbdoc", py::return_value_policy::automatic);
    m.def("any", &anything);
    m.attr("version") = "1";
}
