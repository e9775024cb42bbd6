constexpr int MOST_DIMS = 8;

// Where element i of a tensor lies when some of its dimensions are walked through in order.
struct Walk {
    int dims = 0;
    int sizes[MOST_DIMS] = {};
    int strides[MOST_DIMS] = {};

    __device__ int operator[](int i) const {
        int offset = 0;
#pragma unroll
        for (int d = MOST_DIMS - 1; d > 0; --d) {
            if (d < dims) {
                offset += i % sizes[d] * strides[d];
                i /= sizes[d];
            }
        }
        return dims > 0 ? offset + i * strides[0] : 0;
    }
};

// Dimensions that lie one after the other in memory are walked as one.
Walk walk_of(const torch::Tensor& x, const Dims& dims) {
    Walk walk;
    for (int64_t dim : dims) {
        if (x.size(dim) == 1) continue;
        int last = walk.dims - 1;
        if (last >= 0 && walk.strides[last] == x.size(dim) * x.stride(dim)) {
            walk.sizes[last] *= x.size(dim);
            walk.strides[last] = x.stride(dim);
            continue;
        }
        TORCH_CHECK(walk.dims < MOST_DIMS, "a tensor has too many dimensions");
        walk.sizes[walk.dims] = x.size(dim);
        walk.strides[walk.dims++] = x.stride(dim);
    }
    return walk;
}

Walk walk_of(const torch::Tensor& x) {
    Dims all;
    for (int64_t dim = 0; dim < x.dim(); ++dim) all.push_back(dim);
    return walk_of(x, all);
}
