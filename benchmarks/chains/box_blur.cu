// The mean of the 5 x 5 pixels around each one that lie in the image, by blocks of several shapes with a thread per
// pixel, or by 8 x 8 blocks that walk over the image. Names give the shape; SIZES are width and height.
#include "common.h"

constexpr int kRadius = 2;

__host__ __device__ inline float mean(const float* in, int width, int height, int x, int y) {
    float sum = 0.0f;
    int count = 0;
    for (int dy = -kRadius; dy <= kRadius; ++dy)
        for (int dx = -kRadius; dx <= kRadius; ++dx) {
            const int column = x + dx, row = y + dy;
            if (column >= 0 && column < width && row >= 0 && row < height) {
                sum += in[row * width + column];
                ++count;
            }
        }
    return sum / count;
}

__global__ void blur(const float* in, float* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = mean(in, width, height, x, y);
}

__global__ void blur_walking(const float* in, float* out, int width, int height) {
    for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += blockDim.y * gridDim.y)
        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += blockDim.x * gridDim.x)
            out[y * width + x] = mean(in, width, height, x, y);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4000, 3000}, {130, 70});
    const int width = static_cast<int>(run.size(0)), height = static_cast<int>(run.size(1));
    chain::Array<float> in(size_t(width) * height), out(size_t(width) * height);
    std::vector<float> expected;
    if (run.verify) {
        in.fill([](size_t i) { return chain::pattern(i, 1); });
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) expected.push_back(mean(in.host.data(), width, height, x, y));
    }
    auto check = [&] { return chain::close(out, expected, 1e-5); };
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    const dim3 shapes[] = {{8, 8}, {16, 16}, {32, 8}, {32, 16}, {32, 24}, {32, 32}, {256, 1}, {1, 256}};
    for (const dim3 block : shapes) {
        const dim3 grid(chain::ceil_div(width, block.x), chain::ceil_div(height, block.y));
        run.variant(("blocks_" + std::to_string(block.x) + "x" + std::to_string(block.y)).c_str(),
                    [&, grid, block] { blur<<<grid, block>>>(in, out, width, height); }, check, prepare);
    }
    run.variant("walking", [&] { blur_walking<<<dim3(8, 8), dim3(16, 16)>>>(in, out, width, height); }, check, prepare);
    return run.finish();
}
