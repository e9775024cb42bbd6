// Sorting and scanning: Blelloch scan, bitonic sort, radix sort by bits, odd-even merge, quickselect counts.
#include <algorithm>

#include "../check.h"

// Work-efficient exclusive scan of 512 values by 256 threads.
__global__ void blelloch(const int* in, int* out, int* total) {
    __shared__ int tile[512];
    int t = threadIdx.x, offset = 1;
    tile[2 * t] = in[2 * t], tile[2 * t + 1] = in[2 * t + 1];
    for (int d = 256; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) tile[offset * (2 * t + 2) - 1] += tile[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) *total = tile[511], tile[511] = 0;
    for (int d = 1; d < 512; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, v = tile[a];
            tile[a] = tile[b];
            tile[b] += v;
        }
    }
    __syncthreads();
    out[2 * t] = tile[2 * t], out[2 * t + 1] = tile[2 * t + 1];
}

// Bitonic sort of 256 keys per block, with their positions.
__global__ void bitonic(float* keys, int* positions) {
    __shared__ float k[256];
    __shared__ int p[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    k[t] = keys[base + t], p[t] = t;
    __syncthreads();
    for (int size = 2; size <= 256; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = t ^ stride;
            if (other > t) {
                bool up = (t & size) == 0;
                if ((k[t] > k[other]) == up && k[t] != k[other]) {
                    float f = k[t]; k[t] = k[other]; k[other] = f;
                    int i = p[t]; p[t] = p[other]; p[other] = i;
                }
            }
            __syncthreads();
        }
    }
    keys[base + t] = k[t], positions[base + t] = p[t];
}

// Stable one-bit splits by warp ballots: least significant bit first.
__global__ void radix(unsigned* data, int n) {
    __shared__ unsigned keys[320];
    __shared__ int zeros_before[11], total_zeros;
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    if (t < n) keys[t] = data[t];
    for (int bit = 0; bit < 16; bit++) {
        __syncthreads();
        unsigned key = t < n ? keys[t] : ~0u;
        bool zero = t < n && !(key >> bit & 1);
        unsigned ballot = __ballot_sync(~0u, zero);
        if (lane == 0) zeros_before[warp] = __popc(ballot);
        __syncthreads();
        if (t == 0) {
            int sum = 0;
            for (int w = 0; w < 10; w++) { int c = zeros_before[w]; zeros_before[w] = sum; sum += c; }
            total_zeros = sum;
        }
        __syncthreads();
        int rank = zeros_before[warp] + __popc(ballot & ((1u << lane) - 1));
        if (t < n) keys[zero ? rank : total_zeros + t - rank] = key;
    }
    __syncthreads();
    if (t < n) data[t] = keys[t];
}

// Odd-even transposition: one block, neighbours exchanged in rounds.
__global__ void odd_even(int* data, int n) {
    for (int round = 0; round < n; round++) {
        int i = 2 * threadIdx.x + (round & 1);
        if (i + 1 < n && data[i] > data[i + 1]) { int v = data[i]; data[i] = data[i + 1]; data[i + 1] = v; }
        __syncthreads();
    }
}

int main() {
    Random random(65);
    std::vector<int> in(512);
    for (int& v : in) v = int(random.below(100)) - 20;
    Buffer<int> din(in), out(512), total(1);
    blelloch<<<1, 256>>>(din, out, total);
    auto got = out.host();
    int sum = 0;
    for (int i = 0; i < 512; i++) expect_equal("blelloch", i, sum, got[i]), sum += in[i];
    expect_equal("total", 0, sum, total.host()[0]);

    std::vector<float> keys(512);
    for (float& v : keys) v = float(random.range(-5, 5));
    Buffer<float> dk(keys);
    Buffer<int> dp(512);
    bitonic<<<2, 256>>>(dk, dp);
    auto k = dk.host();
    auto p = dp.host();
    for (int b = 0; b < 512; b += 256) {
        std::vector<float> sorted(keys.begin() + b, keys.begin() + b + 256);
        std::sort(sorted.begin(), sorted.end());
        for (int i = 0; i < 256; i++) {
            expect_equal("bitonic", b + i, sorted[i], k[b + i]);
            expect_equal("position", b + i, keys[b + p[b + i]], k[b + i]);
        }
    }

    std::vector<unsigned> values(300);
    for (unsigned& v : values) v = random.below(65536);
    Buffer<unsigned> dv(values);
    radix<<<1, 320>>>(dv, 300);
    std::sort(values.begin(), values.end());
    expect_all("radix", values, dv.host());

    std::vector<int> few(in.begin(), in.begin() + 77);
    Buffer<int> df(few);
    odd_even<<<1, 40>>>(df, 77);
    std::sort(few.begin(), few.end());
    expect_all("odd even", few, df.host());
    return passed();
}
