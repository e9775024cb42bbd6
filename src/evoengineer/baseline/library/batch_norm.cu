// By the batch's own mean and variance, or by those given.
torch::Tensor batch_normalised(
    torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor mean, torch::Tensor variance, bool own,
    float epsilon) {
    Dims dims{0};
    for (int64_t dim = 2; dim < x.dim(); ++dim) dims.push_back(dim);
    Moments moments = own ? moments_of(x, dims) : Moments{by_channel(mean, x), by_channel(variance, x)};
    return normalised(x, moments, epsilon, by_channel(weight, x), by_channel(bias, x));
}
