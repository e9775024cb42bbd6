// The largest (or smallest) element of each row and its place; of equal ones the first. A thread per row.
__global__ void extreme_kernel(const float* x, Rows rows, bool largest, float* values, int64_t* places) {
    int row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows.count) return;
    const float* elements = x + rows.kept[row];
    float best = elements[0];
    int place = 0;
    for (int i = 1; i < rows.length; ++i) {
        float element = elements[rows.along[i]];
        if (largest ? element > best : element < best) {
            best = element;
            place = i;
        }
    }
    values[row] = best;
    places[row] = place;
}

struct Extreme {
    torch::Tensor values, places;
};

// Over all elements if no dimension is named.
Extreme extreme_of(torch::Tensor x, const Dims& dims, bool keep, bool largest) {
    x = as_floats(x);
    Rows rows = rows_of(x, dims);
    Dims sizes;
    for (int64_t dim = 0; dim < x.dim(); ++dim) {
        bool gone = dims.empty() || dim == (dims[0] < 0 ? dims[0] + x.dim() : dims[0]);
        if (!gone) sizes.push_back(x.size(dim));
        if (gone && keep) sizes.push_back(1);
    }
    Extreme found{make(sizes, x), make(sizes, x, torch::kInt64)};
    extreme_kernel<<<blocks_for(rows.count), THREADS>>>(
        x.data_ptr<float>(), rows, largest, found.values.data_ptr<float>(), found.places.data_ptr<int64_t>());
    return found;
}
