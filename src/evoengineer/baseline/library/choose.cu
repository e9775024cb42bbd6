// One element of the result per thread.
__global__ void choose_kernel(
    const bool* mask, Walk walk_m, const float* a, Walk walk_a, const float* b, Walk walk_b, float* out, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = mask[walk_m[i]] ? a[walk_a[i]] : b[walk_b[i]];
}

torch::Tensor chosen(torch::Tensor mask, torch::Tensor a, torch::Tensor b) {
    Dims inner = common_shape(a, b);
    Dims sizes = common_shape(mask, a.expand(inner));
    mask = mask.to(torch::kBool).expand(sizes);
    a = as_floats(a).expand(sizes);
    b = as_floats(b).expand(sizes);
    auto out = make(sizes, a);
    int n = out.numel();
    choose_kernel<<<blocks_for(n), THREADS>>>(
        mask.data_ptr<bool>(), walk_of(mask), a.data_ptr<float>(), walk_of(a), b.data_ptr<float>(), walk_of(b),
        out.data_ptr<float>(), n);
    return out;
}
