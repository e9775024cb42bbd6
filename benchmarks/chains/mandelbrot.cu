// A part of the Mandelbrot set by one block, whose warps take stretches of 32 pixels in turn. Names end in the number of
// warps. SIZES are the pixels of a side and the most iterations.
#include "common.h"

constexpr float kZoom = 1.0f / 10000.0f;
constexpr float kLeft = -0.743643887 - 0.5 * kZoom, kTop = 0.131825904 - 0.5 * kZoom;

__host__ __device__ unsigned iterations(unsigned row, unsigned column, unsigned side, unsigned most) {
    const float cx = float(column) / float(side) * kZoom + kLeft, cy = float(row) / float(side) * kZoom + kTop;
    float x2 = 0.0f, y2 = 0.0f, w = 0.0f;
    unsigned count = 0;
    while (x2 + y2 <= 4.0f && count < most) {
        const float x = x2 - y2 + cx, y = w - (x2 + y2) + cy, z = x + y;
        x2 = x * x;
        y2 = y * y;
        w = z * z;
        ++count;
    }
    return count;
}

__global__ void one_block(unsigned side, unsigned most, unsigned* out) {
    for (unsigned row = 0; row < side; ++row)
        for (unsigned column = threadIdx.x; column < side; column += blockDim.x)
            out[row * side + column] = iterations(row, column, side, most);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024, 2000}, {64, 100});
    const unsigned side = run.size(0), most = run.size(1);
    chain::Array<unsigned> out(size_t(side) * side);
    // Where sums and products are rounded once or twice decides about some pixels.
    auto check = [&] {
        const std::vector<unsigned> found = out.download();
        size_t other = 0;
        for (unsigned i = 0; i < side * side; ++i) other += found[i] != iterations(i / side, i % side, side, most);
        return other * 20 <= found.size();
    };
    auto prepare = [&] { chain::poison(out); };
    for (int warps : {1, 4, 8, 16, 32})
        run.variant(("warps_" + std::to_string(warps)).c_str(),
                    [&, warps] { one_block<<<1, 32 * warps>>>(side, most, out); }, check, prepare);
    return run.finish();
}
