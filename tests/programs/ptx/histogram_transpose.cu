// Histograms (global, shared, privatised per warp), transposes (naive, padded tiles), compaction, spmv.
#include "../check.h"

__global__ void global_histogram(const unsigned char* in, unsigned* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1);
}
__global__ void shared_histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[4][256];  // one per warp
    int warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) local[i / 256][i % 256] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[warp][in[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned sum = 0;
        for (int w = 0; w < 4; w++) sum += local[w][i];
        if (sum) atomicAdd(&bins[i], sum);
    }
}

template <class T>
__global__ void transpose(const T* in, T* out, int rows, int columns) {
    __shared__ T tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += blockDim.y) {
        int y = blockIdx.y * 32 + k;
        if (x < columns && y < rows) tile[k][threadIdx.x] = in[y * columns + x];
    }
    __syncthreads();
    int tx = blockIdx.y * 32 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += blockDim.y) {
        int ty = blockIdx.x * 32 + k;
        if (tx < rows && ty < columns) out[ty * rows + tx] = tile[threadIdx.x][k];
    }
}

// Sparse matrix times vector, CSR: one thread per row, and one warp per row.
__global__ void spmv_thread(const int* start, const int* column, const double* value, const double* x, double* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0;
    for (int k = start[r]; k < start[r + 1]; k++) sum += value[k] * x[column[k]];
    y[r] = sum;
}
__global__ void spmv_warp(const int* start, const int* column, const double* value, const double* x, double* y, int rows) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (r >= rows) return;
    double sum = 0;
    for (int k = start[r] + lane; k < start[r + 1]; k += 32) sum += value[k] * x[column[k]];
    for (int s = 16; s; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
    if (lane == 0) y[r] = sum;
}

template <class T>
void check_transpose(const char* what, int rows, int columns) {
    std::vector<T> in(rows * columns);
    for (size_t i = 0; i < in.size(); i++) in[i] = T(i * 7);
    Buffer<T> din(in), out(in.size());
    transpose<<<dim3((columns + 31) / 32, (rows + 31) / 32), dim3(32, 8)>>>(din.data, out.data, rows, columns);
    auto got = out.host();
    for (int i = 0; i < rows * columns; i++) expect_equal(what, i, in[i % rows * columns + i / rows], got[i]);
}

int main() {
    const int n = 5000;
    Random random(66);
    std::vector<unsigned char> bytes(n);
    std::vector<unsigned> bins(256);
    for (auto& b : bytes) b = (unsigned char)(random.below(16) * random.below(16)), bins[b]++;
    Buffer<unsigned char> db(bytes);
    Buffer<unsigned> first(256), second(256);
    global_histogram<<<4, 100>>>(db, first, n);
    shared_histogram<<<3, 128>>>(db, second, n);
    expect_all("global histogram", bins, first.host());
    expect_all("shared histogram", bins, second.host());

    check_transpose<float>("transpose float", 64, 32);
    check_transpose<double>("transpose double", 45, 71);
    check_transpose<unsigned char>("transpose bytes", 33, 100);

    const int rows = 150;
    std::vector<int> start(1, 0), column;
    std::vector<double> value, x(rows);
    for (double& v : x) v = double(random.below(100)) / 4;
    for (int r = 0; r < rows; r++) {
        int count = r % 10 == 0 ? 70 : int(random.below(9));
        for (int k = 0; k < count; k++) column.push_back(int(random.below(rows))), value.push_back(double(int(random.below(33)) - 16) / 2);
        start.push_back(int(column.size()));
    }
    Buffer<int> ds(start), dcol(column);
    Buffer<double> dv(value), dx(x), dy(rows), dz(rows);
    spmv_thread<<<3, 64>>>(ds, dcol, dv, dx, dy, rows);
    spmv_warp<<<(rows + 2) / 3, 96>>>(ds, dcol, dv, dx, dz, rows);
    auto y = dy.host(), z = dz.host();
    for (int r = 0; r < rows; r++) {
        double sum = 0;  // exact: all terms are multiples of 1/8
        for (int k = start[r]; k < start[r + 1]; k++) sum += value[k] * x[column[k]];
        expect_equal("spmv thread", r, sum, y[r]);
        expect_equal("spmv warp", r, sum, z[r]);
    }
    return passed();
}
