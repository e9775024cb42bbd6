// Minus the chosen class's value, [rows, classes, places] by [rows, places]; 0 where the label is to be ignored.
__global__ void pick_kernel(
    const float* x, const int64_t* labels, float* out, int n, int classes, int places, int64_t ignored) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n) return;
    int64_t label = labels[i];
    int row = i / places, place = i % places;
    out[i] = label == ignored ? 0.0f : -x[(row * classes + label) * places + place];
}

torch::Tensor picked(torch::Tensor x, torch::Tensor labels, int64_t ignored) {
    x = as_floats(x).contiguous();
    labels = labels.to(torch::kInt64).contiguous();
    auto out = make(labels.sizes().vec(), x);
    int n = out.numel(), classes = x.dim() == 1 ? x.size(0) : x.size(1);
    int places = x.dim() < 3 ? 1 : x.numel() / (x.size(0) * classes);
    pick_kernel<<<blocks_for(n), THREADS>>>(
        x.data_ptr<float>(), labels.data_ptr<int64_t>(), out.data_ptr<float>(), n, classes, places, ignored);
    return out;
}
