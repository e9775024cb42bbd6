// Inclusive scan of 32-bit numbers in several launches: tiles are scanned in shared memory, their sums are scanned in
// the same way, and then added. Blocks of 512 threads; SIZE is the number of elements.
#include "common.h"

using Number = unsigned;
constexpr int kThreads = 512;

// Kogge-Stone: every thread adds what lies 1, 2, 4 ... to its left. Two buffers take turns, so that one barrier per
// step suffices.
__global__ void kogge_stone(const Number* in, Number* out, int n, Number* sums) {
    __shared__ Number buffers[2][kThreads];
    const int thread = threadIdx.x, i = blockIdx.x * kThreads + thread;
    int now = 0;
    buffers[now][thread] = i < n ? in[i] : 0;
    for (int stride = 1; stride < kThreads; stride *= 2) {
        __syncthreads();
        Number value = buffers[now][thread];
        if (thread >= stride) value += buffers[now][thread - stride];
        now = 1 - now;
        buffers[now][thread] = value;
    }
    if (i < n) out[i] = buffers[now][thread];
    if (sums && thread == kThreads - 1) sums[blockIdx.x] = buffers[now][thread];
}

// Brent-Kung: a tree upwards and a tree downwards over two elements per thread.
__global__ void brent_kung(const Number* in, Number* out, int n, Number* sums) {
    constexpr int kTile = 2 * kThreads;
    __shared__ Number tile[kTile];
    const int thread = threadIdx.x, i = blockIdx.x * kTile + thread;
    tile[thread] = i < n ? in[i] : 0;
    tile[thread + kThreads] = i + kThreads < n ? in[i + kThreads] : 0;
    __syncthreads();
    for (int stride = 1; stride <= kThreads; stride *= 2) {
        const int at = (thread + 1) * stride * 2 - 1;
        if (at < kTile) tile[at] += tile[at - stride];
        __syncthreads();
    }
    for (int stride = kThreads / 2; stride > 0; stride /= 2) {
        const int at = (thread + 1) * stride * 2 - 1;
        if (at + stride < kTile) tile[at + stride] += tile[at];
        __syncthreads();
    }
    if (i < n) out[i] = tile[thread];
    if (i + kThreads < n) out[i + kThreads] = tile[thread + kThreads];
    if (sums && thread == kThreads - 1) sums[blockIdx.x] = tile[kTile - 1];
}

// Each thread scans a section of eight elements alone, the ends of the sections are scanned by trees as above, and
// each thread adds what lies left of its section.
__global__ void sections(const Number* in, Number* out, int n, Number* sums) {
    constexpr int kTile = 4096, kSection = kTile / kThreads;
    __shared__ Number tile[kTile];
    const int thread = threadIdx.x, first = blockIdx.x * kTile;
    for (int i = thread; i < kTile; i += kThreads) tile[i] = first + i < n ? in[first + i] : 0;
    __syncthreads();
    const int start = kSection * thread, stop = start + kSection;
    Number sum = 0;
    if (first + start < n)
        for (int i = start; i < stop; ++i) {
            sum += tile[i];
            tile[i] = sum;
        }
    __syncthreads();
    for (int stride = 1; stride <= kThreads; stride *= 2) {
        __syncthreads();
        const int at = (thread + 1) * stride * 2 * kSection - 1;
        if (at < kTile) tile[at] += tile[at - stride * kSection];
    }
    for (int stride = kTile / 4; stride >= kSection; stride /= 2) {
        __syncthreads();
        const int at = (thread + 1) * stride * 2 - 1;
        if (at + stride < kTile) tile[at + stride] += tile[at];
    }
    __syncthreads();
    if (thread != 0) {
        const Number left = tile[start - 1];
        for (int i = start; i < stop - 1; ++i) tile[i] += left;
    }
    __syncthreads();
    for (int i = thread; i < kTile; i += kThreads)
        if (first + i < n) out[first + i] = tile[i];
    if (sums && thread == kThreads - 1) sums[blockIdx.x] = tile[kTile - 1];
}

// Adds the sum of all tiles before to each tile but the first.
__global__ void add_sums(Number* out, int n, const Number* sums, int tile) {
    const int first = blockIdx.x * tile;
    for (int i = threadIdx.x; i < tile; i += blockDim.x)
        if (first + i < n) out[first + i] += sums[blockIdx.x];
}

using Kernel = void (*)(const Number*, Number*, int, Number*);

void scan(Kernel kernel, int tile, const Number* in, Number* out, int n, Number* sums) {
    const int tiles = chain::ceil_div(n, tile);
    kernel<<<tiles, kThreads>>>(in, out, n, tiles > 1 ? sums : nullptr);
    if (tiles == 1) return;
    scan(kernel, tile, sums, sums, tiles, sums + tiles);
    add_sums<<<tiles - 1, kThreads>>>(out + tile, n - tile, sums, tile);
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1 << 26}, {300001});
    const int n = static_cast<int>(run.size(0));
    chain::Array<Number> in(n), out(n), sums(n / 256 + 4);
    std::vector<Number> expected;
    if (run.verify) {
        in.fill([](size_t i) { return Number(1000.0f * (chain::pattern(i, 1) + 1.0f)); });
        Number sum = 0;
        for (Number value : in.host) expected.push_back(sum += value);
    }
    auto prepare = [&] { if (run.verify) chain::poison(out); };
    auto check = [&] { return out.download() == expected; };
    run.variant("kogge_stone", [&] { scan(kogge_stone, kThreads, in, out, n, sums); }, check, prepare);
    run.variant("brent_kung", [&] { scan(brent_kung, 2 * kThreads, in, out, n, sums); }, check, prepare);
    run.variant("sections", [&] { scan(sections, 4096, in, out, n, sums); }, check, prepare);
    return run.finish();
}
