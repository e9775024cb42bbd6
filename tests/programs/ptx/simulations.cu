// Loops that end at different times: Mandelbrot, k-means, Monte Carlo with a generator per thread.
#include "../check.h"

__host__ __device__ inline int escape(double cx, double cy) {
    double x = 0, y = 0;
    int i = 0;
    for (; i < 200 && x * x + y * y <= 4; i++) { double t = x * x - y * y + cx; y = 2 * (x * y) + cy; x = t; }
    return i;
}
__global__ void mandelbrot(int* out, int w, int h) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px < w && py < h) out[py * w + px] = escape(-2.0 + px * 0.0625, -1.25 + py * 0.0625);
}

__global__ void assign(const float2* points, const float2* centres, int* nearest, float* sums, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = 0;
    float closest = 1e30f;
    for (int c = 0; c < k; c++) {
        float dx = points[i].x - centres[c].x, dy = points[i].y - centres[c].y, d = dx * dx + dy * dy;
        if (d < closest) closest = d, best = c;
    }
    nearest[i] = best;
    atomicAdd(&sums[best * 3], points[i].x), atomicAdd(&sums[best * 3 + 1], points[i].y), atomicAdd(&sums[best * 3 + 2], 1.0f);
}

__host__ __device__ inline unsigned pcg(unsigned long long& s) {
    unsigned long long old = s;
    s = old * 6364136223846793005ull + 1442695040888963407ull;
    unsigned x = unsigned(((old >> 18) ^ old) >> 27), r = unsigned(old >> 59);
    return x >> r | x << (-r & 31);
}
__host__ __device__ inline int inside(int seed, int samples) {
    unsigned long long s = seed * 0x9e3779b97f4a7c15ull + 1;
    int count = 0;
    for (int i = 0; i < samples; i++) { float x = float(pcg(s) >> 8) * 0x1p-24f, y = float(pcg(s) >> 8) * 0x1p-24f; count += double(x) * x + double(y) * y < 1; }
    return count;
}
__global__ void monte_carlo(int* total, int samples) { atomicAdd(total, inside(int(blockIdx.x * blockDim.x + threadIdx.x), samples)); }

int main() {
    Random random(71);
    const int w = 45, h = 41;
    Buffer<int> image(w * h), total(1);
    mandelbrot<<<dim3(3, 6), dim3(16, 8)>>>(image, w, h);
    auto m = image.host();
    // Contraction may differ in the last bit: only points that decide quickly are compared exactly.
    for (int i = 0; i < w * h; i++) { int e = escape(-2.0 + i % w * 0.0625, -1.25 + i / w * 0.0625); if (e < 30) expect_equal("mandelbrot", i, e, m[i]); }

    std::vector<float2> points(300), centres = {{0, 0}, {8, 8}, {0, 8}, {8, 0}};
    for (auto& p : points) p = make_float2(float(random.below(160)) / 16, float(random.below(160)) / 16);
    Buffer<float2> dpoints(points), dcentres(centres);
    Buffer<int> nearest(300);
    Buffer<float> sums(12);
    assign<<<3, 100>>>(dpoints, dcentres, nearest, sums, 300, 4);
    auto near_ = nearest.host();
    auto s = sums.host();
    std::vector<float> es(12);
    for (int i = 0; i < 300; i++) {
        int best = 0;
        auto distance = [&](int c) { float dx = points[i].x - centres[c].x, dy = points[i].y - centres[c].y; return dx * dx + dy * dy; };
        for (int c = 1; c < 4; c++) if (distance(c) < distance(best)) best = c;
        expect_equal("nearest", i, best, near_[i]);
        es[best * 3] += points[i].x, es[best * 3 + 1] += points[i].y, es[best * 3 + 2] += 1;
    }
    expect_all("sums", es, s);

    monte_carlo<<<4, 64>>>(total, 100);
    int count = 0;
    for (int i = 0; i < 256; i++) count += inside(i, 100);
    expect_equal("monte carlo", 0, count, total.host()[0]);
    expect_near("pi", 0, M_PI, count * 4.0 / 25600, 0.02);
    return passed();
}
