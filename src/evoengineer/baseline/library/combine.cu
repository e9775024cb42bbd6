// The shape that both have when sizes of 1 are stretched.
Dims common_shape(const torch::Tensor& a, const torch::Tensor& b) {
    int64_t dims = std::max(a.dim(), b.dim());
    Dims sizes(dims, 1);
    for (const auto& each : {a, b}) {
        for (int64_t d = 0; d < each.dim(); ++d) {
            int64_t& size = sizes[dims - each.dim() + d];
            if (size == 1) size = each.size(d);
        }
    }
    return sizes;
}

// One element of the result per thread.
template <class F>
__global__ void combine_kernel(F f, const float* a, Walk walk_a, const float* b, Walk walk_b, float* out, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = f(a[walk_a[i]], b[walk_b[i]]);
}

template <class F>
torch::Tensor combine(F f, torch::Tensor a, torch::Tensor b) {
    Dims sizes = common_shape(a, b);
    a = as_floats(a).expand(sizes);
    b = as_floats(b).expand(sizes);
    auto out = make(sizes, a);
    int n = out.numel();
    combine_kernel<<<blocks_for(n), THREADS>>>(
        f, a.data_ptr<float>(), walk_of(a), b.data_ptr<float>(), walk_of(b), out.data_ptr<float>(), n);
    return out;
}
