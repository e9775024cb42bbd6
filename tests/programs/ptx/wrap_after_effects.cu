// A 32-bit index that wraps before it is widened, in the middle of code with effects: the translation that
// counted on a straight line of addresses gives up there, and nothing before may be done twice.
#include "../check.h"

__global__ void run(unsigned* counts, unsigned long long* out, unsigned back, int rounds) {
    __shared__ unsigned seen[4];
    unsigned t = threadIdx.x;
    if (t < 4) seen[t] = 0;
    __syncthreads();
    unsigned long long sum = 0;
    for (int r = 0; r < rounds; r++) {
        atomicAdd(&seen[t % 4], 1);
        atomicAdd(&counts[t % 8], 1);
        __syncthreads();
        sum += (unsigned long long)(t - back) * 3 + seen[(t + r) % 4];  // wraps in the first lanes
        __syncthreads();
        sum ^= (unsigned long long)(t - back - r);
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}

int main() {
    const int blocks = 3, threads = 96, rounds = 5;
    for (unsigned back : {0u, 1u, 3u, 50u, 200u}) {
        Buffer<unsigned> counts(std::vector<unsigned>(8, 0));
        Buffer<unsigned long long> out(blocks * threads);
        run<<<blocks, threads>>>(counts, out, back, rounds);
        std::vector<unsigned long long> expected(blocks * threads);
        for (int i = 0; i < blocks * threads; i++) {
            unsigned t = i % threads;
            unsigned long long sum = 0;
            for (int r = 0; r < rounds; r++) {
                sum += (unsigned long long)(t - back) * 3 + (r + 1) * (threads / 4);
                sum ^= (unsigned long long)(t - back - r);
            }
            expected[i] = sum;
        }
        expect_all("sums", expected, out.host());
        expect_all("counts", std::vector<unsigned>(8, blocks * threads / 8 * rounds), counts.host());
    }
    return passed();
}
