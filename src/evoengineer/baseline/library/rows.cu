// A tensor as rows: some dimensions are kept, the elements along the others belong together.
struct Rows {
    Walk kept, along;
    int count, length;
    int lanes;  // threads that share a row
};

Rows rows_of(const torch::Tensor& x, const Dims& dims) {
    Dims kept, along;
    std::vector<bool> chosen(x.dim(), dims.empty());
    for (int64_t dim : dims) chosen[dim < 0 ? dim + x.dim() : dim] = true;
    for (int64_t dim = 0; dim < x.dim(); ++dim) (chosen[dim] ? along : kept).push_back(dim);
    Rows rows{walk_of(x, kept), walk_of(x, along), 1, 1, 1};
    for (int64_t dim : kept) rows.count *= x.size(dim);
    for (int64_t dim : along) rows.length *= x.size(dim);
    bool neighbours = rows.along.dims == 0 || rows.along.strides[rows.along.dims - 1] == 1;
    if (rows.length > 32 && (neighbours || rows.count < 4096)) rows.lanes = rows.length > 1024 ? THREADS : 32;
    return rows;
}

// As many blocks as the rows need.
int blocks_for(const Rows& rows) { return blocks_for(static_cast<int64_t>(rows.count) * rows.lanes); }

// The values of a row's threads joined; every thread of the block has to come here.
template <class Join>
__device__ float joined(Join join, float value, int lanes) {
    __shared__ float scratch[THREADS];
    int thread = threadIdx.x, lane = thread % lanes;
    __syncthreads();
    scratch[thread] = value;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
        if (lane < half) scratch[thread] = join(scratch[thread], scratch[thread + half]);
        __syncthreads();
    }
    return scratch[thread - lane];
}

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};

struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
