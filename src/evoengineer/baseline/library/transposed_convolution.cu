// One element of the result per thread: which elements of the input reach it?
__global__ void transposed_convolution_kernel(
    const float* x, const float* weight, const float* bias, float* out, int n, int channels, int filters, int groups,
    Space in, Space window, Space result, Space stride, Space padding, Space dilation) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int column = i % result.width, row = i / result.width % result.height;
    int plane = i / (result.width * result.height) % result.depth;
    int filter = i / (result.width * result.height * result.depth) % filters;
    int image = i / (result.width * result.height * result.depth * filters);
    int shared_filters = filters / groups, shared_channels = channels / groups;
    int first = filter / shared_filters * shared_channels;
    int volume = in.depth * in.height * in.width, taps = window.depth * window.height * window.width;
    float sum = 0.0f;
    for (int a = 0; a < window.depth; ++a) {
        int z = plane + padding.depth - a * dilation.depth;
        if (z < 0 || z % stride.depth != 0 || z / stride.depth >= in.depth) continue;
        for (int b = 0; b < window.height; ++b) {
            int y = row + padding.height - b * dilation.height;
            if (y < 0 || y % stride.height != 0 || y / stride.height >= in.height) continue;
            for (int d = 0; d < window.width; ++d) {
                int t = column + padding.width - d * dilation.width;
                if (t < 0 || t % stride.width != 0 || t / stride.width >= in.width) continue;
                const float* from = x + (image * channels + first) * volume +
                                    (z / stride.depth * in.height + y / stride.height) * in.width + t / stride.width;
                const float* tap = weight + (first * shared_filters + filter % shared_filters) * taps +
                                   (a * window.height + b) * window.width + d;
                for (int c = 0; c < shared_channels; ++c) sum += from[c * volume] * tap[c * shared_filters * taps];
            }
        }
    }
    out[i] = sum + (bias ? bias[filter] : 0.0f);
}

torch::Tensor transposed_convolved(
    torch::Tensor x, torch::Tensor weight, torch::Tensor bias, const Dims& stride, const Dims& padding,
    const Dims& dilation, const Dims& extra, int64_t groups) {
    int64_t dims = weight.dim() - 2;
    Dims sizes{x.size(0), weight.size(1) * groups};
    for (int64_t d = 0; d < dims; ++d) {
        int64_t reach = dilation[d] * (weight.size(2 + d) - 1) + 1;
        sizes.push_back((x.size(2 + d) - 1) * stride[d] - 2 * padding[d] + reach + extra[d]);
    }
    x = with_space(x);
    weight = with_space(weight);
    if (bias.defined()) bias = as_floats(bias).contiguous();
    auto out = make(sizes, x);
    int n = out.numel();
    transposed_convolution_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.defined() ? bias.data_ptr<float>() : nullptr,
        out.data_ptr<float>(), n, x.size(1), sizes[1], groups, space_of(x), space_of(weight),
        space_of(with_space(out)), space_of(stride, 1), space_of(padding, 0), space_of(dilation, 1));
    return out;
}
