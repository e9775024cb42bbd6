struct Minus {
    __device__ float operator()(float a, float b) const { return a - b; }
};

struct Product {
    __device__ float operator()(float a, float b) const { return a * b; }
};

struct Plus {
    __device__ float operator()(float a, float b) const { return a + b; }
};

struct ToScale {
    float epsilon;
    __device__ float operator()(float variance) const { return 1.0f / sqrtf(variance + epsilon); }
};

// Minus the mean, over the deviation, then times the weight and plus the bias where there are any.
torch::Tensor normalised(
    torch::Tensor x, const Moments& moments, float epsilon, torch::Tensor weight, torch::Tensor bias) {
    x = combine(Minus{}, x, moments.mean);
    x = combine(Product{}, x, apply(ToScale{epsilon}, moments.variance));
    if (weight.defined()) x = combine(Product{}, x, weight);
    if (bias.defined()) x = combine(Plus{}, x, bias);
    return x;
}

// One number for each channel, in a shape that stretches to x: [channels, 1, 1, …].
torch::Tensor by_channel(torch::Tensor values, const torch::Tensor& x) {
    if (!values.defined()) return values;
    Dims sizes(x.dim() - 1, 1);
    sizes[0] = values.numel();
    return values.reshape(sizes);
}
