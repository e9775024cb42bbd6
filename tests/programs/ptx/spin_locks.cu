// Locks: between the lanes of one warp, between warps, between blocks; a ticket lock; and the last block
// of a grid that finishes the work of all.
#include "../check.h"

__device__ int lock_word;
__device__ unsigned next_ticket, now_serving;

// Critical section inside the loop: works without any forward-progress guarantee between lanes.
__global__ void critical_inside(int* value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            __threadfence();
            volatile int* v = value;
            *v = *v * 5 % 1000003 + 1;  // not atomic on its own
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}

// The plain spin lock: needs independent thread scheduling.
__global__ void plain_spin(volatile int* value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    while (atomicCAS(&lock_word, 0, 1) != 0) {}
    __threadfence();
    *value = *value + i;
    __threadfence();
    atomicExch(&lock_word, 0);
}

// One ticket per block, taken by its first thread.
__global__ void tickets(volatile int* log, volatile int* count) {
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(&next_ticket, 1);
        while (*(volatile unsigned*)&now_serving != mine) __nanosleep(20);
        __threadfence();
        int at = *count;
        log[at] = int(mine);
        *count = at + 1;
        __threadfence();
        atomicAdd(&now_serving, 1);
    }
    __syncthreads();
}

// Locks per bin in shared memory, taken in divergent code.
__global__ void shared_locks(const int* keys, int* sums, int n) {
    __shared__ int locks[8];
    __shared__ volatile int bins[8];
    if (threadIdx.x < 8) locks[threadIdx.x] = 0, bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int k = keys[i] & 7;
        if (keys[i] % 3 == 0) continue;
        for (bool done = false; !done;) {
            if (atomicExch(&locks[k], 1) == 0) {
                bins[k] = bins[k] + keys[i];
                __threadfence_block();
                atomicExch(&locks[k], 0);
                done = true;
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < 8) sums[threadIdx.x] = bins[threadIdx.x];
}

__device__ unsigned blocks_done;
__global__ void last_block(const float* in, float* partial, float* out, int n) {
    __shared__ float tile[64];
    __shared__ bool last;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    tile[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 32; s; s >>= 1) {
        if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = tile[0];
        __threadfence();
        last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0;
        for (unsigned b = 0; b < gridDim.x; b++) total += ((volatile float*)partial)[b];
        *out = total;
    }
}

int main() {
    const int n = 200;
    Buffer<int> value(1);
    critical_inside<<<4, 50>>>(value, n);
    int expected = 0;
    for (int i = 0; i < n; i++) expected = expected * 5 % 1000003 + 1;
    expect_equal("critical inside", 0, expected, value.host()[0]);

    value.put({0});
    plain_spin<<<3, 64>>>(value, 180);
    expect_equal("plain spin", 0, 180 * 179 / 2, value.host()[0]);

    const int blocks = 40;
    Buffer<int> log(blocks), count(1);
    tickets<<<blocks, 33>>>(log, count);
    auto l = log.host();
    for (int b = 0; b < blocks; b++) expect_equal("tickets", b, b, l[b]);

    Random random(40);
    std::vector<int> keys(n), bins(8);
    for (int& k : keys) { k = int(random.below(1000)); if (k % 3) bins[k & 7] += k; }
    Buffer<int> dk(keys), sums(8);
    shared_locks<<<1, 72>>>(dk, sums, n);
    expect_all("shared locks", bins, sums.host());

    std::vector<float> in(3000);
    float total = 0;
    for (float& v : in) v = float(random.below(64)), total += v;
    Buffer<float> din(in), partial(11), out(1);
    for (int round = 0; round < 3; round++) {
        CUDA_OK(cudaMemset(out, 0, sizeof(float)));
        last_block<<<11, 64>>>(din, partial, out, int(in.size()));
        expect_equal("last block", round, total, out.host()[0]);
    }
    return passed();
}
