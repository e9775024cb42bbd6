// Host-side use of the API on CPU tensors: run by the tests without any device.
#include <torch/extension.h>
#include <c10/util/irange.h>
#include <map>
#include <string>
#include <tuple>
#include <vector>

using torch::Tensor;

std::vector<Tensor> views(Tensor x) {  // x: 2 x 3 x 4
    return {x.view({6, 4}), x.view({-1}), x.reshape({3, 8}), x.permute({2, 0, 1}), x.transpose(0, 2), x.select(1, 2), x[1],
            x.slice(2, 1, 4, 2), x.narrow(1, 1, 2), x.unsqueeze(0), x.unsqueeze(-1).squeeze(-1), x.flatten(1), x.flatten(0, 1),
            x.permute({1, 2, 0}).contiguous(), x.expand({5, 2, 3, 4}), x.transpose(1, 2).reshape({2, 12}), x[0].t(),
            x.as_strided({2, 2}, {1, 2}, 3), x.movedim(0, 2), x.unflatten(2, {2, 2})};
}
std::vector<Tensor> indexed(Tensor x) {  // x: 2 x 3 x 4
    using namespace torch::indexing;
    return {x.index({0}), x.index({Slice(), 1}), x.index({"...", Slice(1, torch::nullopt)}), x.index({Ellipsis, 2}), x.index({None, 1, Slice(0, 3, 2)})};
}
std::vector<Tensor> factories(Tensor x) {
    auto options = torch::TensorOptions().dtype(torch::kInt32).device(torch::kCPU).layout(torch::kStrided).requires_grad(false);
    std::vector<int64_t> shape = {2, 2};
    return {torch::zeros({2, 3}), torch::ones({4}, options), torch::full({2}, 2.5), torch::full(shape, 7, torch::kFloat64), torch::zeros_like(x),
            torch::ones_like(x, torch::kInt64), torch::full_like(x, -1), torch::arange(5), torch::arange(0, 1, 0.25), torch::tensor({1.5, 2.5}),
            torch::tensor({1, 2, 3}, torch::dtype(torch::kLong)), torch::tensor(true), torch::scalar_tensor(3), x.new_zeros({3}),
            x.new_full({2}, 4), torch::empty(x.sizes(), x.options()).fill_(2), torch::zeros(3, x.options().dtype(torch::kBool)),
            torch::empty_strided({2, 2}, {1, 2}, options).zero_(), x.clone().zero_(), torch::tensor(std::vector<float>{4.f, 5.f}),
            torch::ones({2}, torch::dtype(torch::kBFloat16)), torch::ones({2}, torch::kHalf)};
}
std::vector<Tensor> conversions(Tensor x) {
    Tensor y = torch::empty({x.size(0), x.size(1)}, x.options().dtype(torch::kDouble));
    y.copy_(x);
    y[0] = torch::zeros({x.size(1)}, y.options());
    y[1].fill_(9);
    return {x.to(torch::kFloat64), x.to(torch::kInt), x.to(torch::kHalf), x.to(torch::kBFloat16).to(torch::kFloat), x.toType(at::kBool), y,
            x.t().contiguous().to(y.options()), x.cpu(), x.to(torch::kCPU, torch::kInt64), x.clone().detach()};
}
std::vector<int64_t> facts(const Tensor& x) {
    TORCH_CHECK_NE(x.dim(), 0);
    Tensor none;
    int64_t sum = 0;
    for (const auto i : c10::irange(x.dim())) sum += x.stride(i);
    return {x.dim(), x.numel(), (int64_t)x.nbytes(), (int64_t)x.element_size(), (int64_t)x.itemsize(), x.size(-1), sum, x.is_contiguous(), x.t().is_contiguous(),
            x.is_cuda(), x.defined(), none.defined(), x.is_floating_point(), x.sizes() == x.clone().sizes(), x.sizes().equals(x.t().sizes()),
            x.dtype() == torch::kFloat32, x.scalar_type() == at::ScalarType::Float, x.options().dtype() == x.dtype(), x.storage_offset(),
            x.type().is_cuda(), x.get_device(), x.device() == torch::Device(torch::kCPU), x.device().type() == torch::DeviceType::CPU,
            torch::typeMetaToScalarType(x.dtype()) == at::kFloat, x.is_same(x), (int64_t)x.sizes().vec().size(), x.ndimension(), x.requires_grad()};
}
double items(Tensor x) { return x[0][0].item<float>() + x[1][1].item<double>() + x.select(0, 1)[0].item().toFloat() + (x[0][1].item<int>() ? 100 : 0); }
std::string texts(Tensor x) {
    return std::string(torch::toString(x.scalar_type())) + " " + x.device().str() + " " + x.type().toString() + " " + c10::str("n=", x.numel(), " ", x.sizes());
}
std::tuple<int, double, bool, std::string, c10::optional<Tensor>> echo(int64_t a, double b, bool c, const std::string& d, c10::optional<Tensor> e) {
    return {(int)a, b, c, d, e};
}
int64_t lists(at::IntArrayRef a, std::vector<double> b, std::vector<Tensor> c, at::TensorList d, c10::optional<at::IntArrayRef> e) {
    return a.size() * 10000 + b.size() * 1000 + c.size() * 100 + d.size() * 10 + (e.has_value() ? e->size() : 9);
}
Tensor with_dtype(Tensor x, torch::ScalarType type, c10::optional<torch::Dtype> other, torch::Device device, at::Scalar value) {
    return torch::full({2}, value, torch::TensorOptions().dtype(other.value_or(type)).device(device));
}
Tensor mapped(std::map<std::string, Tensor> tensors, int which) { return tensors.at("b"); }
py::object objects(py::object value, py::list items, py::dict named) {
    if (value.is_none()) return py::make_tuple(items.size(), named["key"].cast<int>(), "none");
    std::vector<int64_t> all;
    for (auto item : items) all.push_back(item.cast<int64_t>());
    return py::cast(all);
}
std::vector<Tensor> parts(Tensor x) { auto v = x.chunk(2, 1); auto u = x.unbind(0); v.insert(v.end(), u.begin(), u.end()); for (auto& s : x.split(2, 1)) v.push_back(s); return v; }
void fails(int how) {
    if (how == 0) TORCH_CHECK(how == 1, "how is ", how, ", ", 2.5, " ", true, " ", torch::kFloat, " ", std::string("text"));
    if (how == 1) TORCH_CHECK(how == 0);
    if (how == 2) throw std::runtime_error("thrown");
    if (how == 3) AT_ERROR("at ", "error");
    if (how == 4) C10_CUDA_CHECK(cudaErrorInvalidValue);
    if (how == 5) torch::zeros({2}).data_ptr<double>();
    if (how == 6) Tensor().sizes();
    if (how == 7) torch::zeros({2, 3}).view({4});
    if (how == 8) throw 3;
    if (how == 9) TORCH_INTERNAL_ASSERT(false, "internal");
    TORCH_WARN("warned ", how);
}
static int64_t overload(int64_t) { return 1; }
static int64_t overload(std::string) { return 2; }
Tensor inplace(Tensor x) { x.fill_(1.5); return x; }
struct Functor { int64_t base; int64_t operator()(int64_t x) const { return base + x; } };

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &inplace, "fills its argument");
    m.def("views", &views); m.def("indexed", &indexed); m.def("factories", &factories); m.def("conversions", &conversions); m.def("facts", &facts); m.def("items", &items);
    m.def("texts", &texts);
    m.def("echo", &echo, "every scalar", py::arg("a"), py::arg("b") = 2, py::arg("c") = true, py::arg("d") = "text", py::arg("e") = c10::nullopt);
    m.def("lists", &lists); m.def("with_dtype", &with_dtype, py::arg("x"), py::arg("type"), py::arg("other") = torch::kInt, py::arg("device") = "cpu", py::arg("value") = 1.5);
    m.def("mapped", &mapped); m.def("objects", &objects); m.def("parts", &parts); m.def("fails", &fails, py::call_guard<py::gil_scoped_release>());
    m.def("overload", py::overload_cast<int64_t>(&overload)); m.def("overload", py::overload_cast<std::string>(&overload));
    m.def("captured", Functor{40});
    m.def("twice", [](int64_t x) { return 2 * x; }, "a lambda", py::arg("x"));
    m.def("nothing", []() {});
    m.def("undefined", []() { return Tensor(); });
}
