// Matrix products: naive in several block shapes, shared-memory tiles, transposed operands, batched, edges.
#include "../check.h"

__global__ void naive(const float* a, const float* b, float* c, int m, int n, int k) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

template <int TILE>
__global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float ta[TILE][TILE], tb[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
    float sum = 0;
    for (int t = 0; t < k; t += TILE) {
        ta[ty][tx] = row < m && t + tx < k ? a[row * k + t + tx] : 0;
        tb[ty][tx] = column < n && t + ty < k ? b[(t + ty) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += ta[ty][i] * tb[i][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// C = A^T B in double, one element per warp, lanes share the sum.
__global__ void transposed(const float* a, const float* b, float* c, int m, int n, int k) {
    int element = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (element >= m * n) return;
    int row = element / n, column = element % n;
    double sum = 0;
    for (int i = lane; i < k; i += 32) sum += double(a[i * m + row]) * b[i * n + column];
    for (int s = 16; s; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
    if (lane == 0) c[element] = float(sum);
}

__global__ void batched(const int* a, const int* b, int* c, int size) {
    const int *pa = a + blockIdx.z * size * size, *pb = b + blockIdx.z * size * size;
    int x = threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y >= size) return;
    int sum = 0;
#pragma unroll 4
    for (int i = 0; i < size; i++) sum += pa[y * size + i] * pb[i * size + x];
    c[(blockIdx.z * size + y) * size + x] = sum;
}

int main() {
    const int m = 45, n = 70, k = 33;
    Random random(64);
    std::vector<float> a(m * k), b(k * n), at(k * m);
    for (float& v : a) v = float(random.range(-1, 1));
    for (float& v : b) v = float(random.range(-1, 1));
    for (int i = 0; i < m * k; i++) at[i % k * m + i / k] = a[i];
    std::vector<double> e(m * n);
    for (int i = 0; i < m * n; i++) for (int j = 0; j < k; j++) e[i] += double(a[i / n * k + j]) * b[j * n + i % n];
    Buffer<float> da(a), db(b), dat(at), dc(m * n);
    auto verify = [&](const char* what) {
        auto got = dc.host();
        for (int i = 0; i < m * n; i++) expect_near(what, i, e[i], got[i], 1e-5, 1e-5);
        CUDA_OK(cudaMemset(dc, 0xff, m * n * sizeof(float)));
    };
    for (dim3 block : {dim3(16, 16), dim3(32, 8), dim3(8, 8), dim3(64, 1), dim3(10, 7), dim3(1, 32)}) {
        naive<<<dim3((n + block.x - 1) / block.x, (m + block.y - 1) / block.y), block>>>(da, db, dc, m, n, k);
        verify("naive");
    }
    tiled<16><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(da, db, dc, m, n, k);
    verify("tiled 16");
    tiled<32><<<dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 32)>>>(da, db, dc, m, n, k);
    verify("tiled 32");
    tiled<7><<<dim3((n + 6) / 7, (m + 6) / 7), dim3(7, 7)>>>(da, db, dc, m, n, k);
    verify("tiled 7");
    transposed<<<(m * n * 32 + 127) / 128, 128>>>(dat, db, dc, m, n, k);
    verify("transposed");

    const int size = 20, batch = 4;
    std::vector<int> ia(batch * size * size), ib(ia.size());
    for (int& v : ia) v = int(random.below(21)) - 10;
    for (int& v : ib) v = int(random.below(21)) - 10;
    Buffer<int> dia(ia), dib(ib), dic(ia.size());
    batched<<<dim3(1, 3, batch), dim3(size, 8)>>>(dia, dib, dic, size);
    auto got = dic.host();
    for (int i = 0; i < batch * size * size; i++) {
        int z = i / (size * size), y = i / size % size, x = i % size, sum = 0;
        for (int j = 0; j < size; j++) sum += ia[(z * size + y) * size + j] * ib[(z * size + j) * size + x];
        expect_equal("batched", i, sum, got[i]);
    }
    return passed();
}
