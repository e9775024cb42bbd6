// One element of the result per thread: the mean (or maximum) of its share of the input.
__global__ void adaptive_pool_kernel(const float* x, float* out, int n, Space in, Space result, bool largest) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int column = i % result.width, row = i / result.width % result.height;
    int plane = i / (result.width * result.height) % result.depth;
    const float* from = x + i / (result.width * result.height * result.depth) * (in.depth * in.height * in.width);
    int z0 = plane * in.depth / result.depth, z1 = ((plane + 1) * in.depth + result.depth - 1) / result.depth;
    int y0 = row * in.height / result.height, y1 = ((row + 1) * in.height + result.height - 1) / result.height;
    int t0 = column * in.width / result.width, t1 = ((column + 1) * in.width + result.width - 1) / result.width;
    float sum = 0.0f, most = -INFINITY;
    for (int z = z0; z < z1; ++z) {
        for (int y = y0; y < y1; ++y) {
            for (int t = t0; t < t1; ++t) {
                float element = from[(z * in.height + y) * in.width + t];
                sum += element;
                most = fmaxf(most, element);
            }
        }
    }
    out[i] = largest ? most : sum / ((z1 - z0) * (y1 - y0) * (t1 - t0));
}

torch::Tensor adaptive_pooled(torch::Tensor x, const Dims& result, bool largest) {
    Dims sizes = x.sizes().vec();
    for (size_t d = 0; d < result.size(); ++d) sizes[x.dim() - result.size() + d] = result[d];
    auto out = make(sizes, x);
    x = with_images(x, result.size());
    int n = out.numel();
    adaptive_pool_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), n, space_of(x), space_of(with_images(out, result.size())), largest);
    return out;
}
