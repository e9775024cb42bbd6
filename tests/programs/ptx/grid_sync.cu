// Cooperative launch: the whole grid in step, several times, with results passed between blocks.
#include <cooperative_groups.h>

#include "../check.h"

namespace cg = cooperative_groups;

// Jacobi smoothing: each round reads what other blocks wrote in the round before.
__global__ void smooth(float* a, float* b, int n, int rounds) {
    cg::grid_group grid = cg::this_grid();
    for (int r = 0; r < rounds; r++) {
        for (int i = int(grid.thread_rank()); i < n; i += int(grid.size())) {
            float left = i ? a[i - 1] : 0, right = i + 1 < n ? a[i + 1] : 0;
            b[i] = 0.25f * left + 0.5f * a[i] + 0.25f * right;
        }
        grid.sync();
        float* t = a;
        a = b;
        b = t;
    }
}

// Block sums, then one prefix over the blocks, then the offsets are added: three phases in one kernel.
__global__ void scan(const int* in, int* out, int* sums, int* info) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    extern __shared__ int tile[];
    int t = threadIdx.x, n = blockDim.x, i = blockIdx.x * n + t;
    tile[t] = in[i];
    block.sync();
    for (int s = 1; s < n; s *= 2) {
        int add = t >= s ? tile[t - s] : 0;
        block.sync();
        tile[t] += add;
        block.sync();
    }
    if (t == n - 1) sums[blockIdx.x] = tile[t];
    grid.sync();
    if (grid.thread_rank() == 0) {
        for (unsigned b = 1; b < gridDim.x; b++) sums[b] += sums[b - 1];
        info[0] = int(grid.size()), info[1] = int(grid.num_blocks()), info[2] = grid.is_valid();
    }
    grid.sync();
    out[i] = tile[t] + (blockIdx.x ? sums[blockIdx.x - 1] : 0);
}

int main() {
    int supported = 0, device = 0;
    CUDA_OK(cudaGetDevice(&device));
    CUDA_OK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, device));
    expect_equal("cooperative launch", 0, 1, supported);

    int n = 700, rounds = 6;
    Random random(34);
    std::vector<float> values(n);
    for (float& v : values) v = float(random.below(256));
    Buffer<float> a(values), b(n);
    float *pa = a, *pb = b;
    void* arguments[] = {&pa, &pb, &n, &rounds};
    CUDA_OK(cudaLaunchCooperativeKernel((void*)smooth, dim3(5), dim3(64), arguments, 0, nullptr));
    auto got = a.host();  // an even number of rounds ends in a
    std::vector<float> now = values, next(n);
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < n; i++) next[i] = 0.25f * (i ? now[i - 1] : 0) + 0.5f * now[i] + 0.25f * (i + 1 < n ? now[i + 1] : 0);
        std::swap(now, next);
    }
    expect_all("smooth", now, got);  // every step is exact in float

    const int blocks = 9, threads = 50;
    std::vector<int> in(blocks * threads);
    for (int& v : in) v = int(random.below(100)) - 30;
    Buffer<int> din(in), out(in.size()), sums(blocks), info(3);
    const int* p0 = din;
    int *p1 = out, *p2 = sums, *p3 = info;
    void* scan_arguments[] = {&p0, &p1, &p2, &p3};
    CUDA_OK(cudaLaunchCooperativeKernel((void*)scan, dim3(blocks), dim3(threads), scan_arguments, threads * sizeof(int), nullptr));
    auto s = out.host(), i = info.host();
    for (int k = 0, sum = 0; k < blocks * threads; k++) expect_equal("scan", k, sum += in[k], s[k]);
    expect_equal("grid size", 0, blocks * threads, i[0]);
    expect_equal("grid blocks", 0, blocks, i[1]);
    expect_equal("grid valid", 0, 1, i[2]);
    return passed();
}
