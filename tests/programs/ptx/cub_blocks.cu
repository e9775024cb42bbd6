// CUB within a block and a warp: reduce, scan, radix sort, load and store, exchange, histogram, warp sort.
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include <algorithm>

#include "../check.h"

struct Largest { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };

template <int THREADS, cub::BlockReduceAlgorithm ALGORITHM>
__global__ void reductions(const int* in, int* out, int valid) {
    using Reduce = cub::BlockReduce<int, THREADS, ALGORITHM>;
    __shared__ typename Reduce::TempStorage storage;
    int v = in[blockIdx.x * THREADS + threadIdx.x];
    int sum = Reduce(storage).Sum(v);
    __syncthreads();
    int partial = Reduce(storage).Sum(v, valid);
    __syncthreads();
    int largest = Reduce(storage).Reduce(v, Largest());
    if (threadIdx.x == 0) out[3 * blockIdx.x] = sum, out[3 * blockIdx.x + 1] = partial, out[3 * blockIdx.x + 2] = largest;
}

// 64 threads with 4 items each: load, scan, sort, store.
__global__ void items(const int* in, int* scanned, int* sorted, unsigned* counts) {
    using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using Scan = cub::BlockScan<int, 64>;
    using Sort = cub::BlockRadixSort<int, 64, 4>;
    using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 16>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
        typename Histogram::TempStorage histogram;
    } storage;
    __shared__ unsigned bins[16];
    int v[4], s[4], total;
    Load(storage.load).Load(in, v, 250, -1);
    __syncthreads();
    Scan(storage.scan).ExclusiveSum(v, s, total);
    __syncthreads();
    Store(storage.store).Store(scanned, s);
    __syncthreads();
    unsigned char small[4];
    for (int i = 0; i < 4; i++) small[i] = (unsigned char)(v[i] & 15);
    Histogram(storage.histogram).Histogram(small, bins);
    __syncthreads();
    Sort(storage.sort).Sort(v);
    __syncthreads();
    Store(storage.store).Store(sorted, v);
    if (threadIdx.x < 16) counts[threadIdx.x] = bins[threadIdx.x];
    if (threadIdx.x == 0) scanned[256] = total;
}

__global__ void warps(const int* in, int* out) {
    using Reduce = cub::WarpReduce<int, 8>;
    using Scan = cub::WarpScan<int>;
    __shared__ typename Reduce::TempStorage reduce[16];
    __shared__ typename Scan::TempStorage scan[4];
    int v = in[threadIdx.x], inclusive;
    int sum = Reduce(reduce[threadIdx.x / 8]).Sum(v);
    Scan(scan[threadIdx.x / 32]).InclusiveSum(v, inclusive);
    out[threadIdx.x] = inclusive;
    out[128 + threadIdx.x] = threadIdx.x % 8 == 0 ? sum : 0;
}

int main() {
    Random random(73);
    std::vector<int> in(384);
    for (int& v : in) v = int(random.below(1000)) - 300;
    Buffer<int> din(in), out(512), sorted(256);
    auto check = [&](const char* what, int threads) {
        auto got = out.host();
        for (int b = 0; b < 3; b++) {
            int sum = 0, partial = 0, largest = INT32_MIN;
            for (int t = 0; t < threads; t++) {
                int v = in[b * threads + t];
                sum += v, partial += t < 50 ? v : 0, largest = std::max(largest, v);
            }
            expect_equal(what, 3 * b, sum, got[3 * b]);
            expect_equal(what, 3 * b + 1, partial, got[3 * b + 1]);
            expect_equal(what, 3 * b + 2, largest, got[3 * b + 2]);
        }
    };
    reductions<128, cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<3, 128>>>(din, out, 50);
    check("warp reductions", 128);
    reductions<96, cub::BLOCK_REDUCE_RAKING><<<3, 96>>>(din, out, 50);
    check("raking", 96);
    reductions<70, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<3, 70>>>(din, out, 50);
    check("raking commutative", 70);

    Buffer<unsigned> counts(16);
    items<<<1, 64>>>(din, out, sorted, counts);
    std::vector<int> v(in.begin(), in.begin() + 256);
    for (int i = 250; i < 256; i++) v[i] = -1;
    auto s = out.host();
    int sum = 0;
    std::vector<unsigned> bins(16);
    for (int i = 0; i < 256; i++) expect_equal("block scan", i, sum, s[i]), sum += v[i], bins[v[i] & 15]++;
    expect_equal("block total", 0, sum, s[256]);
    expect_all("block histogram", bins, counts.host());
    std::sort(v.begin(), v.end());
    expect_all("block sort", v, sorted.host());

    warps<<<1, 128>>>(din, out);
    auto w = out.host();
    for (int t = 0; t < 128; t++) {
        int inclusive = 0, part = 0;
        for (int k = t & ~31; k <= t; k++) inclusive += in[k];
        for (int k = t; k < t + 8; k++) part += in[k];
        expect_equal("warp scan", t, inclusive, w[t]);
        expect_equal("warp reduce", t, t % 8 == 0 ? part : 0, w[128 + t]);
    }
    return passed();
}
