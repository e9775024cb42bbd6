// Convolution of an image with a square mask: the mask in global or in constant memory, the image read directly or
// through shared memory. The result is clamped in double precision. SIZES are the image's axis, the mask's axis (odd,
// at most 11) and the axis of a block.
#include "common.h"

constexpr int kLargest = 11;
__constant__ float constant_mask[kLargest * kLargest];

__device__ float clamped(float value) { return min(max(value, 0.0), 1.0); }

template <bool kConstant>
__global__ void direct(const float* in, const float* global_mask, float* out, int mask_height, int mask_width, int height,
                       int width, int channels) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height || column >= width) return;
    int top = row - mask_height / 2, left = column - mask_width / 2;
    for (int c = 0; c < channels; ++c) {
        float sum = 0.0f;
        for (int k = 0; k < mask_height; ++k)
            for (int l = 0; l < mask_width; ++l)
                if (top + k >= 0 && top + k < height && left + l >= 0 && left + l < width)
                    sum += in[((top + k) * width + left + l) * channels + c] *
                           (kConstant ? constant_mask[k * mask_width + l] : global_mask[k * mask_width + l]);
        out[(row * width + column) * channels + c] = clamped(sum);
    }
}

// A block loads as many elements as it has threads; those at the rim compute nothing.
__global__ void tiled(const float* in, float* out, int mask_height, int mask_width, int height, int width, int channels) {
    extern __shared__ float tile[];
    int tile_height = blockDim.y - mask_height + 1, tile_width = blockDim.x - mask_width + 1;
    int y = threadIdx.y, x = threadIdx.x;
    int row = blockIdx.y * tile_height + y, column = blockIdx.x * tile_width + x;
    int from_row = row - mask_height / 2, from_column = column - mask_width / 2;
    for (int c = 0; c < channels; ++c) {
        if (from_row >= 0 && from_row < height && from_column >= 0 && from_column < width)
            tile[y * blockDim.x + x] = in[(from_row * width + from_column) * channels + c];
        else
            tile[y * blockDim.x + x] = 0.0f;
        __syncthreads();
        if (y < tile_height && x < tile_width && row < height && column < width) {
            float sum = 0.0f;
            for (int k = 0; k < mask_height; ++k)
                for (int l = 0; l < mask_width; ++l)
                    sum += tile[(y + k) * blockDim.x + x + l] * constant_mask[k * mask_width + l];
            out[(row * width + column) * channels + c] = clamped(sum);
        }
        __syncthreads();
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {8192, 5, 16}, {70, 5, 16});
    const int axis = static_cast<int>(run.size(0)), mask_axis = static_cast<int>(run.size(1)), block_axis = static_cast<int>(run.size(2));
    const size_t count = size_t(axis) * axis;
    chain::Array<float> in(count), out(count), mask(size_t(mask_axis) * mask_axis);
    mask.fill([](size_t i) { return 0.2f * chain::pattern(i, 2); });
    CHECK(cudaMemcpyToSymbol(constant_mask, mask.host.data(), mask.count * sizeof(float)));
    std::vector<float> expected(run.verify ? count : 0);
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int row = 0; row < axis; ++row)
            for (int column = 0; column < axis; ++column) {
                double sum = 0.0;
                for (int k = 0; k < mask_axis; ++k)
                    for (int l = 0; l < mask_axis; ++l) {
                        int y = row - mask_axis / 2 + k, x = column - mask_axis / 2 + l;
                        if (y >= 0 && y < axis && x >= 0 && x < axis) sum += double(in.host[size_t(y) * axis + x]) * mask.host[k * mask_axis + l];
                    }
                expected[size_t(row) * axis + column] = float(std::fmin(std::fmax(sum, 0.0), 1.0));
            }
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    const dim3 block(block_axis, block_axis), grid(chain::ceil_div(axis, block_axis), chain::ceil_div(axis, block_axis));
    const int inner = block_axis - mask_axis + 1;
    const dim3 tiles(chain::ceil_div(axis, inner), chain::ceil_div(axis, inner));

    run.variant("global_mask", [&] { direct<false><<<grid, block>>>(in, mask, out, mask_axis, mask_axis, axis, axis, 1); }, check, prepare);
    run.variant("constant_mask", [&] { direct<true><<<grid, block>>>(in, mask, out, mask_axis, mask_axis, axis, axis, 1); }, check, prepare);
    run.variant("tiled", [&] { tiled<<<tiles, block, block_axis * block_axis * sizeof(float)>>>(in, out, mask_axis, mask_axis, axis, axis, 1); }, check, prepare);
    return run.finish();
}
