// The sum of `value` over a block of 256 threads, known to all of them.
__device__ float block_sum(float value) {
    __shared__ float parts[8];
    for (int o = 16; o > 0; o /= 2) value += __shfl_xor_sync(0xffffffff, value, o);
    __syncthreads();  // a previous sum may still be read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < 8; i++) sum += parts[i];
    return sum;
}

// A block for each row: mean, variance, then the normalised row.
__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int columns, float eps) {
    x += int64_t(blockIdx.x) * columns;
    y += int64_t(blockIdx.x) * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 256) sum += x[c];
    float mean = block_sum(sum) / columns;
    for (int c = threadIdx.x; c < columns; c += 256) squares += (x[c] - mean) * (x[c] - mean);
    float scale = rsqrtf(block_sum(squares) / columns + eps);
    for (int c = threadIdx.x; c < columns; c += 256) y[c] = (x[c] - mean) * scale * weight[c] + bias[c];
}
