// A square matrix of zeros with x on its diagonal, one element per thread.
__global__ void diagonal_kernel(const float* x, Walk walk, float* out, int size) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= size * size) return;
    out[i] = i % size == i / size ? x[walk[i % size]] : 0.0f;
}

torch::Tensor diagonal_matrix(torch::Tensor x) {
    x = as_floats(x);
    int size = x.size(0);
    auto out = make({size, size}, x);
    diagonal_kernel<<<blocks_for(out.numel()), THREADS>>>(x.data_ptr<float>(), walk_of(x), out.data_ptr<float>(), size);
    return out;
}
