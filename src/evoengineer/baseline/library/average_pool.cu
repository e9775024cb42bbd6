// One element of the result per thread. Padding counts as zeros if `padded`; a `divisor` replaces the count.
__global__ void average_pool_kernel(
    const float* x, float* out, int n, Space in, Space result, Space window, Space stride, Space padding, bool padded,
    int divisor) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int column = i % result.width, row = i / result.width % result.height;
    int plane = i / (result.width * result.height) % result.depth;
    const float* from = x + i / (result.width * result.height * result.depth) * (in.depth * in.height * in.width);
    int z0 = plane * stride.depth - padding.depth, z1 = min(z0 + window.depth, in.depth + padding.depth);
    int y0 = row * stride.height - padding.height, y1 = min(y0 + window.height, in.height + padding.height);
    int t0 = column * stride.width - padding.width, t1 = min(t0 + window.width, in.width + padding.width);
    int whole = (z1 - z0) * (y1 - y0) * (t1 - t0);
    z0 = max(z0, 0), y0 = max(y0, 0), t0 = max(t0, 0);
    z1 = min(z1, in.depth), y1 = min(y1, in.height), t1 = min(t1, in.width);
    float sum = 0.0f;
    for (int z = z0; z < z1; ++z) {
        for (int y = y0; y < y1; ++y) {
            for (int t = t0; t < t1; ++t) sum += from[(z * in.height + y) * in.width + t];
        }
    }
    int count = divisor > 0 ? divisor : padded ? whole : (z1 - z0) * (y1 - y0) * (t1 - t0);
    out[i] = sum / count;
}

torch::Tensor average_pooled(
    torch::Tensor x, const Dims& window, const Dims& stride, const Dims& padding, bool up, bool padded, int64_t divisor) {
    auto out = make(pooled_sizes(x, window, stride, padding, Dims(window.size(), 1), up), x);
    x = with_images(x, window.size());
    int n = out.numel();
    average_pool_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), n, space_of(x), space_of(with_images(out, window.size())),
        space_of(window, 1), space_of(stride, 1), space_of(padding, 0), padded, divisor);
    return out;
}
