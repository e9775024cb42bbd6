// Helpers around tensors that published extensions lean on; the host functions run without a device.
#include <torch/extension.h>
#include <ATen/cuda/CUDAApplyUtils.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <ATen/WrapDimUtils.h>
#include <cub/block/block_reduce.cuh>

using namespace torch::indexing;
using at::cuda::detail::TensorInfo;

// Functors and functions of CUB that CUDA 13 no longer has.
__global__ void reduced(const float* x, float* y, TensorInfo<float, int> info) {
    using Reduce = cub::BlockReduce<float, 64>;
    __shared__ typename Reduce::TempStorage storage;
    const float sum = Reduce(storage).Reduce(x[threadIdx.x], cub::Sum());
    __syncthreads();
    const float most = Reduce(storage).Reduce(x[threadIdx.x], cub::Max()), least = cub::Min()(sum, most);
    if (cub::LaneId() == 0) y[at::cuda::detail::IndexToOffset<float, int, -1>::get(0, info)] = sum - least;
}
torch::Tensor launch(torch::Tensor x) {
    c10::DeviceGuard guard(x.device());
    c10::InferenceMode mode;
    dim3 grid;
    auto y = at::empty_symint({c10::SymInt(1)}, x.options());
    if (at::cuda::getApplyGrid(x.numel(), grid, x.get_device()))
        reduced<<<grid, at::cuda::getApplyBlock(64)>>>(x.data_ptr<float>(), y.data_ptr<float>(), at::cuda::detail::getTensorInfo<float, int>(y));
    return y;
}

std::vector<int64_t> offsets(torch::Tensor x) {
    auto info = at::cuda::detail::getTensorInfo<float, int64_t>(x);
    std::vector<int64_t> places{static_cast<int64_t>(at::cuda::detail::canUse32BitIndexMath(x))};
    at::parallel_for(0, x.numel(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) places.push_back(at::cuda::detail::IndexToOffset<float, int64_t, -1>::get(i, info));
    });
    return places;
}
std::vector<int64_t> numbers(torch::Tensor x) {
    return {c10::multiply_integers(x.sizes()), c10::sum_integers(x.sizes()), at::maybe_wrap_dim(-1, x.dim()), at::cuda::ATenCeilDiv<int64_t>(7, 2)};
}
std::string described(torch::Tensor x) { return c10::DeviceTypeName(x.device().type(), true) + (x.scalar_type() == torch::CppTypeToScalarType<float>() ? " float" : " other"); }
int64_t wrapped(int64_t dimension) { return at::maybe_wrap_dim(dimension, 2); }
std::vector<torch::Tensor> open_slices(torch::Tensor x) {
    return {x.index({Slice(None, 1)}), x.index({Slice(), Slice(1, None)}), x.slice(1, None, 2), x.index({None, 0})};
}
// A Parameter may come as an object that holds its tensor.
at::Tensor unwrapped(const py::object& value) {
    try {
        return value.cast<at::Tensor>();
    } catch (const py::cast_error&) {
        if (py::hasattr(value, "data")) return value.attr("data").cast<at::Tensor>();
        throw py::type_error("expected a tensor");
    }
}
at::Tensor own_data(const py::object& value) { return value.attr("data").cast<at::Tensor>(); }
std::vector<std::string> entries(const py::dict& values) {
    std::vector<std::string> found;
    for (auto item : values) found.push_back(item.first.cast<std::string>() + "=" + std::to_string(item.second.cast<int64_t>()));
    return found;
}
void checked(const at::Tensor& a, const at::Tensor& b) {
    at::TensorArg first{a, "a", 1}, second{b, "b", 2};
    at::CheckedFrom from = "checked";
    at::checkAllSameType(from, {first, second});
    at::checkAllSameSize(from, {first, second});
    at::checkAllContiguous(from, {first, second});
    at::checkDim(from, first, 2);
}
void refuses(int64_t how) {
    if (how == 0) throw c10::TypeError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, c10::str("type ", how));
    if (how == 1) throw c10::ValueError({__func__, __FILE__, 1}, std::string("value"));
    throw py::value_error("python's");
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("launch", &launch); m.def("offsets", &offsets); m.def("numbers", &numbers); m.def("wrapped", &wrapped); m.def("described", &described); m.def("open_slices", &open_slices);
    m.def("unwrapped", &unwrapped); m.def("own_data", &own_data); m.def("entries", &entries); m.def("checked", &checked); m.def("refuses", &refuses);
}
