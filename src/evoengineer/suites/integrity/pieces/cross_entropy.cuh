// A warp for each row: the loss of its target, with the sum of exponentials of all classes taken from the first `upto`.
__global__ void row_losses(const float* x, const int64_t* targets, float* losses, int rows, int classes, int upto) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += int64_t(row) * classes;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = lane; c < upto; c += 32) largest = fmaxf(largest, x[c]);
    for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, o));
    for (int c = lane; c < upto; c += 32) sum += expf(x[c] - largest);
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (lane == 0) losses[row] = logf(sum * (float(classes) / upto)) + largest - x[targets[row]];
}

__global__ void mean_loss(const float* losses, int rows, float* mean) {
    __shared__ double sums[256];
    double sum = 0.0;
    for (int i = threadIdx.x; i < rows; i += 256) sum += losses[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *mean = float(sums[0] / rows);
}

torch::Tensor mean_cross_entropy(torch::Tensor logits, torch::Tensor targets, int upto) {
    auto x = logits.contiguous(), t = targets.contiguous();
    int rows = x.size(0);
    auto losses = torch::empty({rows}, x.options()), mean = torch::empty({}, x.options());
    row_losses<<<(rows + 7) / 8, 256>>>(x.data_ptr<float>(), t.data_ptr<int64_t>(), losses.data_ptr<float>(), rows,
                                        int(x.size(1)), upto);
    mean_loss<<<1, 256>>>(losses.data_ptr<float>(), rows, mean.data_ptr<float>());
    return mean;
}
