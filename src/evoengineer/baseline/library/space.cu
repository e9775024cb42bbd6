// One, two and three dimensions of space are treated as three.
struct Space {
    int depth, height, width;
};

Space space_of(Dims sizes, int64_t missing) {
    while (sizes.size() < 3) sizes.insert(sizes.begin(), missing);
    return {static_cast<int>(sizes[0]), static_cast<int>(sizes[1]), static_cast<int>(sizes[2])};
}

// [images, channels, …] as [images, channels, depth, height, width].
torch::Tensor with_space(torch::Tensor x) {
    x = as_floats(x).contiguous();
    while (x.dim() < 5) x = x.unsqueeze(2);
    return x;
}

Space space_of(const torch::Tensor& x) { return space_of({x.size(2), x.size(3), x.size(4)}, 1); }
