// One element of the result per thread.
__global__ void max_pool_kernel(
    const float* x, float* out, int n, Space in, Space result, Space window, Space stride, Space padding,
    Space dilation) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int column = i % result.width, row = i / result.width % result.height;
    int plane = i / (result.width * result.height) % result.depth;
    const float* from = x + i / (result.width * result.height * result.depth) * (in.depth * in.height * in.width);
    float largest = -INFINITY;
    for (int a = 0; a < window.depth; ++a) {
        int z = plane * stride.depth - padding.depth + a * dilation.depth;
        if (z < 0 || z >= in.depth) continue;
        for (int b = 0; b < window.height; ++b) {
            int y = row * stride.height - padding.height + b * dilation.height;
            if (y < 0 || y >= in.height) continue;
            for (int d = 0; d < window.width; ++d) {
                int t = column * stride.width - padding.width + d * dilation.width;
                if (t < 0 || t >= in.width) continue;
                largest = fmaxf(largest, from[(z * in.height + y) * in.width + t]);
            }
        }
    }
    out[i] = largest;
}

torch::Tensor max_pooled(
    torch::Tensor x, const Dims& window, const Dims& stride, const Dims& padding, const Dims& dilation, bool up) {
    auto out = make(pooled_sizes(x, window, stride, padding, dilation, up), x);
    x = with_images(x, window.size());
    int n = out.numel();
    max_pool_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), n, space_of(x), space_of(with_images(out, window.size())),
        space_of(window, 1), space_of(stride, 1), space_of(padding, 0), space_of(dilation, 1));
    return out;
}
