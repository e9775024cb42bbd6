// Over the last `count` dimensions.
torch::Tensor layer_normalised(
    torch::Tensor x, int64_t count, torch::Tensor weight, torch::Tensor bias, float epsilon) {
    Dims dims;
    for (int64_t dim = x.dim() - count; dim < x.dim(); ++dim) dims.push_back(dim);
    return normalised(x, moments_of(x, dims), epsilon, weight, bias);
}
