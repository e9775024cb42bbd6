// Tiles of 16 by 16 in shared memory; sums the products of k from `first` to `last`.
__device__ float product(const float* a, const float* b, int m, int k, int n, int row, int column, int first, int last) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
    for (int t = first; t < last; t += 16) {
        left[y][x] = row < m && t + x < last ? a[int64_t(row) * k + t + x] : 0.0f;
        right[y][x] = column < n && t + y < last ? b[int64_t(t + y) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    return sum;
}

__global__ void multiply(const float* a, const float* b, float* c, int m, int k, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = product(a, b, m, k, n, row, column, 0, k);
    if (row < m && column < n) c[int64_t(row) * n + column] = sum;
}

void launch_multiply(const float* a, const float* b, float* c, int m, int k, int n) {
    multiply<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, k, n);
}
