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

// `times[d]` copies along each dimension; there may be more dimensions than x has.
torch::Tensor repeated(torch::Tensor x, const Dims& times) {
    while (x.dim() < static_cast<int64_t>(times.size())) x = x.unsqueeze(0);
    for (size_t dim = 0; dim < times.size(); ++dim) {
        if (times[dim] != 1) x = strung(std::vector<torch::Tensor>(times[dim], x), dim);
    }
    return x;
}
