struct Smaller {
    __device__ float operator()(float a, float b) const { return fminf(a, b); }
};

struct Times {
    __device__ float operator()(float a, float b) const { return a * b; }
};

struct Same {
    __device__ float operator()(float x) const { return x; }
};

// A row, or a piece of it, per group of threads.
template <class Term, class Join>
__global__ void reduce_kernel(Term term, Join join, float start, const float* x, Rows rows, int piece, float* out) {
    int lane = threadIdx.x % rows.lanes;
    int row = blockIdx.x * (THREADS / rows.lanes) + threadIdx.x / rows.lanes;
    int begin = blockIdx.y * piece, end = min(begin + piece, rows.length);
    float result = start;
    if (row < rows.count) {
        const float* values = x + rows.kept[row];
        for (int i = begin + lane; i < end; i += rows.lanes) result = join(result, term(values[rows.along[i]]));
    }
    result = joined(join, result, rows.lanes);
    if (row < rows.count && lane == 0) out[row * gridDim.y + blockIdx.y] = result;
}

// All dimensions if none are named. Few long rows are reduced in pieces first.
template <class Term, class Join>
torch::Tensor reduced(Term term, Join join, float start, torch::Tensor x, const Dims& dims, bool keep) {
    x = as_floats(x);
    Rows rows = rows_of(x, dims);
    Dims sizes;
    std::vector<bool> gone(x.dim(), dims.empty());
    for (int64_t dim : dims) gone[dim < 0 ? dim + x.dim() : dim] = true;
    for (int64_t dim = 0; dim < x.dim(); ++dim) {
        if (!gone[dim]) sizes.push_back(x.size(dim));
        if (gone[dim] && keep) sizes.push_back(1);
    }
    int pieces = rows.count < 128 && rows.length > 32768 ? 256 : 1;
    int piece = (rows.length + pieces - 1) / pieces;
    auto out = make({rows.count, pieces}, x);
    dim3 grid(blocks_for(rows), pieces);
    reduce_kernel<<<grid, THREADS>>>(term, join, start, x.data_ptr<float>(), rows, piece, out.data_ptr<float>());
    if (pieces > 1) return reduced(Same{}, join, start, out, {1}, false).reshape(sizes);
    return out.reshape(sizes);
}
