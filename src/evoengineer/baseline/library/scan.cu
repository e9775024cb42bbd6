// Running results along a dimension, a thread per row.
template <class Join>
__global__ void scan_kernel(Join join, float start, const float* x, Rows rows, Rows target, float* out) {
    int row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows.count) return;
    float result = start;
    for (int i = 0; i < rows.length; ++i) {
        result = join(result, x[rows.kept[row] + rows.along[i]]);
        out[target.kept[row] + target.along[i]] = result;
    }
}

template <class Join>
torch::Tensor scanned(Join join, float start, torch::Tensor x, int64_t dim) {
    x = as_floats(x);
    auto out = make(x.sizes().vec(), x);
    Rows rows = rows_of(x, {dim});
    scan_kernel<<<blocks_for(rows.count), THREADS>>>(
        join, start, x.data_ptr<float>(), rows, rows_of(out, {dim}), out.data_ptr<float>());
    return out;
}
