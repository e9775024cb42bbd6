// `amounts` before and after the last dimension, then the one before it, and so on; less than 0 cuts off.
torch::Tensor padded(torch::Tensor x, const Dims& amounts, float value) {
    Dims sizes = x.sizes().vec();
    for (size_t i = 0; i < amounts.size(); ++i) sizes[x.dim() - 1 - i / 2] += amounts[i];
    auto out = filled(sizes, value, x);
    auto inside = out;
    for (size_t i = 0; i < amounts.size() / 2; ++i) {
        int64_t dim = x.dim() - 1 - i, before = amounts[2 * i], after = amounts[2 * i + 1];
        int64_t cut = std::max<int64_t>(-before, 0), begin = std::max<int64_t>(before, 0);
        int64_t length = x.size(dim) - cut - std::max<int64_t>(-after, 0);
        x = x.narrow(dim, cut, length);
        inside = inside.narrow(dim, begin, length);
    }
    write(x, inside);
    return out;
}
