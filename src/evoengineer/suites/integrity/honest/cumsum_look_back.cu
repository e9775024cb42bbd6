// control: decoupled look-back: tiles of a row wait for the sums of those before, by their index
// problem: kernels91/cumulative/cumsum

#include <torch/extension.h>

// A tile's sum (1) or the sum of everything up to its end (2), with the value in the lower half.
__device__ unsigned long long packed(unsigned state, float value) {
    return (unsigned long long)state << 32 | __float_as_uint(value);
}

__global__ void scan_tiles(const float* x, float* y, int columns, int tiles, unsigned long long* sums) {
    __shared__ float s[256], before;
    int row = blockIdx.x / tiles, tile = blockIdx.x % tiles, c = tile * 256 + threadIdx.x;
    s[threadIdx.x] = c < columns ? x[int64_t(row) * columns + c] : 0.0f;
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        float left = threadIdx.x >= o ? s[threadIdx.x - o] : 0.0f;
        __syncthreads();
        s[threadIdx.x] += left;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        unsigned long long* own = sums + int64_t(row) * tiles + tile;
        float sum = 0.0f;
        if (tile > 0) {
            atomicExch(own, packed(1, s[255]));
            for (unsigned long long* other = own - 1;;) {
                unsigned long long found = atomicAdd(other, 0ull);
                if (found >> 32 == 0) continue;
                sum += __uint_as_float(unsigned(found));
                if (found >> 32 == 2) break;
                other--;
            }
        }
        atomicExch(own, packed(2, sum + s[255]));
        before = sum;
    }
    __syncthreads();
    if (c < columns) y[int64_t(row) * columns + c] = before + s[threadIdx.x];
}

torch::Tensor forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int rows = x.size(0), columns = x.size(1), tiles = (columns + 255) / 256;
    auto sums = torch::zeros({int64_t(rows) * tiles}, x.options().dtype(torch::kInt64));
    auto* S = reinterpret_cast<unsigned long long*>(sums.data_ptr<int64_t>());
    scan_tiles<<<rows * tiles, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), columns, tiles, S);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
