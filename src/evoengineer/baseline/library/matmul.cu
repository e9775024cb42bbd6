constexpr int TILE = 16;

// A tile of the result per block: tiles of both operands go through shared memory.
__global__ void matmul_kernel(
    const float* a, int a_batch, int a_row, int a_column, const float* b, int b_batch, int b_row, int b_column,
    float* c, int rows, int columns, int depth) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    a += static_cast<int64_t>(blockIdx.z) * a_batch;
    b += static_cast<int64_t>(blockIdx.z) * b_batch;
    float sum = 0.0f;
    for (int begin = 0; begin < depth; begin += TILE) {
        int k = begin + threadIdx.x, l = begin + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < rows && k < depth ? a[row * a_row + k * a_column] : 0.0f;
        b_tile[threadIdx.y][threadIdx.x] = l < depth && column < columns ? b[l * b_row + column * b_column] : 0.0f;
        __syncthreads();
        float part = 0.0f;
        for (int i = 0; i < TILE; ++i) part += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
        sum += part;
        __syncthreads();
    }
    if (row < rows && column < columns) {
        c[(static_cast<int64_t>(blockIdx.z) * rows + row) * columns + column] = sum;
    }
}

// [batch, rows, depth] times [batch, depth, columns].
torch::Tensor multiplied(torch::Tensor a, torch::Tensor b) {
    a = as_floats(a);
    b = as_floats(b);
    TORCH_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), "the matrices do not fit");
    int batch = a.size(0), rows = a.size(1), depth = a.size(2), columns = b.size(2);
    auto c = make({batch, rows, columns}, a);
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE, batch);
    matmul_kernel<<<grid, dim3(TILE, TILE)>>>(
        a.data_ptr<float>(), a.stride(0), a.stride(1), a.stride(2), b.data_ptr<float>(), b.stride(0), b.stride(1),
        b.stride(2), c.data_ptr<float>(), rows, columns, depth);
    return c;
}
