// Tensors one after the other along a dimension.
torch::Tensor strung(const std::vector<torch::Tensor>& parts, int64_t dim) {
    if (dim < 0) dim += parts[0].dim();
    Dims sizes = parts[0].sizes().vec();
    sizes[dim] = 0;
    for (const auto& part : parts) sizes[dim] += part.size(dim);
    auto out = make(sizes, parts[0]);
    int64_t begin = 0;
    for (const auto& part : parts) {
        write(part, out.narrow(dim, begin, part.size(dim)));
        begin += part.size(dim);
    }
    return out;
}
