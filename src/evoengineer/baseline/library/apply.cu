// One element of the result per thread.
template <class F>
__global__ void apply_kernel(F f, const float* x, Walk walk, float* out, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = f(x[walk[i]]);
}

template <class F>
torch::Tensor apply(F f, torch::Tensor x) {
    x = as_floats(x);
    auto out = make(x.sizes().vec(), x);
    int n = out.numel();
    apply_kernel<<<blocks_for(n), THREADS>>>(f, x.data_ptr<float>(), walk_of(x), out.data_ptr<float>(), n);
    return out;
}
