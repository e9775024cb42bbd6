// Windows that begin inside the input or its left padding; `up` rounds their number up.
Dims pooled_sizes(
    const torch::Tensor& x, const Dims& window, const Dims& stride, const Dims& padding, const Dims& dilation,
    bool up) {
    Dims sizes = x.sizes().vec();
    int64_t first = x.dim() - window.size();
    for (size_t d = 0; d < window.size(); ++d) {
        int64_t size = sizes[first + d], room = size + 2 * padding[d] - dilation[d] * (window[d] - 1) - 1;
        int64_t count = (room + (up ? stride[d] - 1 : 0)) / stride[d] + 1;
        if (up && (count - 1) * stride[d] >= size + padding[d]) --count;
        sizes[first + d] = count;
    }
    return sizes;
}

// [images, channels, …] with one image where there is no such dimension.
torch::Tensor with_images(torch::Tensor x, int64_t space_dims) {
    return with_space(x.dim() == space_dims + 1 ? x.unsqueeze(0) : x);
}
