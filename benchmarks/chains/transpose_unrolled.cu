// Copying and transposing a square matrix of floats with one, two or four elements per thread, blocks of 32 x 32
// threads, and with one element and blocks of 16 x 16. SIZE is the number of rows, a multiple of 128.
#include "common.h"

// kEach elements per thread lie a block's width apart.
template <int kSide, int kEach>
__global__ void copy(const float* in, float* out, int n) {
    unsigned x = kEach * blockIdx.x * kSide + threadIdx.x, y = blockIdx.y * kSide + threadIdx.y;
    if (x + (kEach - 1) * kSide < n && y < n) {
#pragma unroll
        for (int k = 0; k < kEach; ++k) out[y * n + x + k * kSide] = in[y * n + x + k * kSide];
    }
}

template <int kSide, int kEach>
__global__ void strided_write(const float* in, float* out, int n) {
    unsigned x = kEach * blockIdx.x * kSide + threadIdx.x, y = blockIdx.y * kSide + threadIdx.y;
    if (x + (kEach - 1) * kSide < n && y < n) {
#pragma unroll
        for (int k = 0; k < kEach; ++k) out[(x + k * kSide) * n + y] = in[y * n + x + k * kSide];
    }
}

template <int kSide>
__global__ void strided_read(const float* in, float* out, int n) {
    unsigned x = blockIdx.x * kSide + threadIdx.x, y = blockIdx.y * kSide + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = in[x * n + y];
}

// A tile kEach times as wide as high goes through shared memory; kPad = 1 shifts each of its rows by a bank.
template <int kEach, int kPad>
__global__ void tiled(const float* in, float* out, int n) {
    constexpr int kSide = 32, kWidth = kSide * kEach + kPad;
    __shared__ float tile[kSide * kWidth];
    unsigned x = kEach * blockIdx.x * kSide + threadIdx.x, y = blockIdx.y * kSide + threadIdx.y;
    if (x + (kEach - 1) * kSide < n && y < n) {
#pragma unroll
        for (int k = 0; k < kEach; ++k) tile[threadIdx.y * kWidth + threadIdx.x + k * kSide] = in[y * n + x + k * kSide];
        unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
        unsigned column = thread % blockDim.y, row = thread / blockDim.y;
        unsigned target = (kEach * kSide * blockIdx.x + row) * n + blockIdx.y * kSide + column;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kEach; ++k) out[target + n * kSide * k] = tile[column * kWidth + row + k * kSide];
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192}, {128});
    const int n = static_cast<int>(run.size(0));
    chain::Array<float> in(size_t(n) * n), out(size_t(n) * n);
    std::vector<float> transposed;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        transposed.resize(in.count);
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x) transposed[size_t(x) * n + y] = in.host[size_t(y) * n + x];
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto same = [&] { return chain::close(out, in.host, 0.0); };
    auto turned = [&] { return chain::close(out, transposed, 0.0); };
    const dim3 block(32, 32), small(16, 16), one(n / 32, n / 32), two(n / 64, n / 32), four(n / 128, n / 32);
    const dim3 many(n / 16, n / 16);

    run.variant("copy", [&] { copy<32, 1><<<one, block>>>(in, out, n); }, same, prepare);
    run.variant("copy_2", [&] { copy<32, 2><<<two, block>>>(in, out, n); }, same, prepare);
    run.variant("copy_4", [&] { copy<32, 4><<<four, block>>>(in, out, n); }, same, prepare);
    run.variant("strided_write", [&] { strided_write<32, 1><<<one, block>>>(in, out, n); }, turned, prepare);
    run.variant("strided_write_2", [&] { strided_write<32, 2><<<two, block>>>(in, out, n); }, turned, prepare);
    run.variant("strided_write_4", [&] { strided_write<32, 4><<<four, block>>>(in, out, n); }, turned, prepare);
    run.variant("tiled", [&] { tiled<1, 0><<<one, block>>>(in, out, n); }, turned, prepare);
    run.variant("tiled_2", [&] { tiled<2, 0><<<two, block>>>(in, out, n); }, turned, prepare);
    run.variant("tiled_padded", [&] { tiled<1, 1><<<one, block>>>(in, out, n); }, turned, prepare);
    run.variant("tiled_padded_2", [&] { tiled<2, 1><<<two, block>>>(in, out, n); }, turned, prepare);
    run.variant("tiled_padded_4", [&] { tiled<4, 1><<<four, block>>>(in, out, n); }, turned, prepare);
    run.variant("small_copy", [&] { copy<16, 1><<<many, small>>>(in, out, n); }, same, prepare);
    run.variant("small_strided_write", [&] { strided_write<16, 1><<<many, small>>>(in, out, n); }, turned, prepare);
    run.variant("small_strided_read", [&] { strided_read<16><<<many, small>>>(in, out, n); }, turned, prepare);
    return run.finish();
}
