torch::Tensor group_normalised(
    torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, float epsilon) {
    Dims sizes = x.sizes().vec();
    torch::Tensor none;
    auto grouped = x.reshape({x.size(0), groups, x.numel() / (x.size(0) * groups)});
    x = normalised(grouped, moments_of(grouped, {2}), epsilon, none, none).reshape(sizes);
    if (weight.defined()) x = combine(Product{}, x, by_channel(weight, x));
    if (bias.defined()) x = combine(Plus{}, x, by_channel(bias, x));
    return x;
}
