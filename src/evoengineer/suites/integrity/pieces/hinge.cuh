// The sum of `value` over a block of 256 threads; thread 0 has it.
__device__ double block_total(double value) {
    __shared__ double parts[8];
    for (int o = 16; o > 0; o /= 2) value += __shfl_down_sync(0xffffffff, value, o);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    double total = 0.0;
    if (threadIdx.x == 0)
        for (int i = 0; i < 8; i++) total += parts[i];
    return total;
}

__global__ void hinges(const float* p, const float* t, double* sums, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < n; i += int64_t(gridDim.x) * 256)
        sum += fmaxf(0.0f, 1.0f - p[i] * t[i]);
    double total = block_total(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void mean_of(const double* sums, int count, float* loss, int64_t n) {
    double sum = 0.0;
    for (int i = threadIdx.x; i < count; i += 256) sum += sums[i];
    double total = block_total(sum);
    if (threadIdx.x == 0) loss[0] = float(total / n);
}

// Of the first `n` elements.
torch::Tensor mean_hinge(torch::Tensor predictions, torch::Tensor targets, int64_t n) {
    auto p = predictions.contiguous(), t = targets.contiguous();
    auto loss = torch::empty({}, p.options()), sums = torch::empty({1024}, p.options().dtype(torch::kFloat64));
    hinges<<<1024, 256>>>(p.data_ptr<float>(), t.data_ptr<float>(), sums.data_ptr<double>(), n);
    mean_of<<<1, 256>>>(sums.data_ptr<double>(), 1024, loss.data_ptr<float>(), n);
    return loss;
}
