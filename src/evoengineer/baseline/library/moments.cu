// Mean and mean squared distance from it, a row per group of threads.
__global__ void moments_kernel(const float* x, Rows rows, float* mean, float* variance) {
    int lane = threadIdx.x % rows.lanes;
    int row = blockIdx.x * (THREADS / rows.lanes) + threadIdx.x / rows.lanes;
    bool there = row < rows.count;
    const float* values = there ? x + rows.kept[row] : x;
    int length = there ? rows.length : 0;
    float sum = 0.0f;
    for (int i = lane; i < length; i += rows.lanes) sum += values[rows.along[i]];
    float middle = joined(Add{}, sum, rows.lanes) / rows.length;
    float squares = 0.0f;
    for (int i = lane; i < length; i += rows.lanes) {
        float distance = values[rows.along[i]] - middle;
        squares += distance * distance;
    }
    squares = joined(Add{}, squares, rows.lanes);
    if (there && lane == 0) {
        mean[row] = middle;
        variance[row] = squares / rows.length;
    }
}

struct Moments {
    torch::Tensor mean, variance;
};

// In the shape of x, with the dimensions that were summed over of size 1.
Moments moments_of(torch::Tensor x, const Dims& dims) {
    x = as_floats(x);
    Rows rows = rows_of(x, dims);
    Dims sizes = x.sizes().vec();
    for (int64_t dim : dims) sizes[dim < 0 ? dim + x.dim() : dim] = 1;
    if (dims.empty()) sizes.assign(x.dim(), 1);
    Moments moments{make(sizes, x), make(sizes, x)};
    moments_kernel<<<blocks_for(rows), THREADS>>>(
        x.data_ptr<float>(), rows, moments.mean.data_ptr<float>(), moments.variance.data_ptr<float>());
    return moments;
}
