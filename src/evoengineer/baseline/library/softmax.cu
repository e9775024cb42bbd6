// A row per group of threads: the maximum, the sum of the exponentials, then the results.
__global__ void softmax_kernel(const float* x, Rows rows, Rows target, float* out, bool logarithm) {
    int lane = threadIdx.x % rows.lanes;
    int row = blockIdx.x * (THREADS / rows.lanes) + threadIdx.x / rows.lanes;
    bool there = row < rows.count;
    const float* values = there ? x + rows.kept[row] : x;
    int length = there ? rows.length : 0;
    float largest = -INFINITY;
    for (int i = lane; i < length; i += rows.lanes) largest = fmaxf(largest, values[rows.along[i]]);
    largest = joined(Larger{}, largest, rows.lanes);
    float sum = 0.0f;
    for (int i = lane; i < length; i += rows.lanes) sum += expf(values[rows.along[i]] - largest);
    sum = joined(Add{}, sum, rows.lanes);
    for (int i = lane; i < length; i += rows.lanes) {
        float shifted = values[rows.along[i]] - largest;
        out[target.kept[row] + target.along[i]] = logarithm ? shifted - logf(sum) : expf(shifted) / sum;
    }
}

torch::Tensor softmax_of(torch::Tensor x, int64_t dim, bool logarithm) {
    x = as_floats(x);
    auto out = make(x.sizes().vec(), x);
    Rows rows = rows_of(x, {dim});
    softmax_kernel<<<blocks_for(rows), THREADS>>>(
        x.data_ptr<float>(), rows, rows_of(out, {dim}), out.data_ptr<float>(), logarithm);
    return out;
}
