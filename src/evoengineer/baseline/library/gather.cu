// Slices of x along a dimension, by their numbers: [before, length, after] by [count].
__global__ void take_kernel(const float* x, const int64_t* places, float* out, int n, int length, int count, int after) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int before = i / (count * after);
    int64_t place = places[i / after % count];
    if (place < 0) place += length;
    out[i] = x[(before * length + place) * after + i % after];
}

torch::Tensor taken(torch::Tensor x, int64_t dim, torch::Tensor places) {
    if (dim < 0) dim += x.dim();
    x = as_floats(x).contiguous();
    places = places.to(torch::kInt64).contiguous();
    Dims sizes;
    int after = 1;
    for (int64_t d = 0; d < dim; ++d) sizes.push_back(x.size(d));
    for (int64_t d = 0; d < places.dim(); ++d) sizes.push_back(places.size(d));
    for (int64_t d = dim + 1; d < x.dim(); ++d) {
        sizes.push_back(x.size(d));
        after *= x.size(d);
    }
    auto out = make(sizes, x);
    int n = out.numel();
    take_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), places.data_ptr<int64_t>(), out.data_ptr<float>(), n, x.size(dim), places.numel(), after);
    return out;
}

// For each place of `places` the element of x that it names along the dimension.
__global__ void gather_kernel(
    const float* x, const int64_t* places, float* out, int n, Walk others, int length, int step, Walk target,
    int target_step) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int row = i / length, k = i % length;
    int at = target[row] + k * target_step;
    out[at] = x[others[row] + places[at] * step];
}

torch::Tensor gathered(torch::Tensor x, int64_t dim, torch::Tensor places) {
    if (dim < 0) dim += x.dim();
    x = as_floats(x);
    places = places.to(torch::kInt64).contiguous();
    for (int64_t d = 0; d < x.dim(); ++d) {
        if (d != dim) x = x.narrow(d, 0, places.size(d));
    }
    auto out = make(places.sizes().vec(), x);
    Dims others;
    for (int64_t d = 0; d < x.dim(); ++d) {
        if (d != dim) others.push_back(d);
    }
    int n = out.numel();
    gather_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), places.data_ptr<int64_t>(), out.data_ptr<float>(), n, walk_of(x, others),
        places.size(dim), x.stride(dim), walk_of(out, others), out.stride(dim));
    return out;
}
