// One element per thread, the other way round along one dimension: [before, length, after].
__global__ void flip_kernel(const float* x, float* out, int n, int length, int after) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int place = i / after % length;
    out[i] = x[i + (length - 1 - 2 * place) * after];
}

torch::Tensor flipped(torch::Tensor x, const Dims& dims) {
    x = as_floats(x).contiguous();
    for (int64_t dim : dims) {
        if (dim < 0) dim += x.dim();
        auto out = make(x.sizes().vec(), x);
        int n = out.numel(), after = 1;
        for (int64_t d = dim + 1; d < x.dim(); ++d) after *= x.size(d);
        flip_kernel<<<blocks_for(n), THREADS>>>(x.data_ptr<float>(), out.data_ptr<float>(), n, x.size(dim), after);
        x = out;
    }
    return x;
}
