// The elements of x go where `target`, a view of another tensor, has its own.
__global__ void write_kernel(const float* x, Walk walk, float* out, Walk target, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[target[i]] = x[walk[i]];
}

void write(torch::Tensor x, torch::Tensor target) {
    int n = target.numel();
    if (n == 0) return;
    x = as_floats(x).expand(target.sizes().vec());
    write_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), walk_of(x), target.data_ptr<float>(), walk_of(target), n);
}

__global__ void fill_kernel(float* out, float value, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = value;
}

torch::Tensor filled(const Dims& sizes, float value, const torch::Tensor& like) {
    auto out = make(sizes, like);
    int n = out.numel();
    if (n > 0) fill_kernel<<<blocks_for(n), THREADS>>>(out.data_ptr<float>(), value, n);
    return out;
}
