// One element per thread; above (or below) the diagonal stays, the rest is 0.
__global__ void triangle_kernel(
    const float* x, Walk walk, float* out, int n, int rows, int columns, int diagonal, bool upper) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int distance = i % columns - i / columns % rows;
    out[i] = (upper ? distance >= diagonal : distance <= diagonal) ? x[walk[i]] : 0.0f;
}

torch::Tensor triangle_of(torch::Tensor x, int64_t diagonal, bool upper) {
    x = as_floats(x);
    auto out = make(x.sizes().vec(), x);
    int n = out.numel();
    triangle_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), walk_of(x), out.data_ptr<float>(), n, x.size(-2), x.size(-1), diagonal, upper);
    return out;
}
