// A warp for each row: the maximum, the sum of the exponentials, then the quotients.
__device__ void softmax_row(const float* x, float* y, int columns) {
    int lane = threadIdx.x % 32;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = lane; c < columns; c += 32) largest = fmaxf(largest, x[c]);
    for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, o));
    for (int c = lane; c < columns; c += 32) sum += expf(x[c] - largest);
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    for (int c = lane; c < columns; c += 32) y[c] = expf(x[c] - largest) / sum;
}

__global__ void softmax(const float* x, float* y, int64_t rows, int columns) {
    int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (row < rows) softmax_row(x + row * columns, y + row * columns, columns);
}

void launch_softmax(const float* x, float* y, int64_t rows, int columns, cudaStream_t stream = 0) {
    softmax<<<(rows + 7) / 8, 256, 0, stream>>>(x, y, rows, columns);
}
