// cuda::atomic and cuda::atomic_ref: scopes, orders, fetch operations, wait and notify, message passing.
#include <cuda/atomic>

#include "../check.h"

__device__ cuda::atomic<int, cuda::thread_scope_device> global_counter{0};
__device__ cuda::atomic<unsigned long long, cuda::thread_scope_device> wide{0};

__global__ void operations(int* plain, unsigned* bits, float* real, int* failures, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    global_counter.fetch_add(i, cuda::memory_order_relaxed);
    wide.fetch_max((unsigned long long)i << 32);
    cuda::atomic_ref<int, cuda::thread_scope_device> ref(*plain);
    ref.fetch_sub(3, cuda::std::memory_order_acq_rel);
    ref++;
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> mask(bits[0]), toggled(bits[1]);
    mask.fetch_or(1u << i % 30);
    toggled.fetch_xor(1u << i % 7);
    cuda::atomic_ref<float, cuda::thread_scope_device> sum(*real);
    sum.fetch_add(0.5f);
    // Strong and weak compare-exchange.
    cuda::atomic_ref<int, cuda::thread_scope_device> slot(failures[i % 4]);
    int expected = 0;
    if (!slot.compare_exchange_strong(expected, i + 1)) {
        int old = slot.load(cuda::memory_order_acquire);
        while (!slot.compare_exchange_weak(old, old + 1000, cuda::memory_order_release, cuda::memory_order_relaxed)) {}
    }
}

__global__ void shared_scope(int* out) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> total;
    if (threadIdx.x == 0) new (&total) cuda::atomic<int, cuda::thread_scope_block>(100);
    __syncthreads();
    total.fetch_add(int(threadIdx.x), cuda::memory_order_relaxed);
    __syncthreads();
    out[threadIdx.x] = total.load() + (total.is_lock_free() ? 0 : 1);
}

// Release and acquire between warps: data first, flag after.
__global__ void message(int* out) {
    __shared__ int data[32];
    __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) new (&flag) cuda::atomic<int, cuda::thread_scope_block>(0);
    __syncthreads();
    if (threadIdx.x < 32) {
        data[lane] = lane * 3;
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);
        __syncwarp();
        if (lane == 0) flag.store(1, cuda::memory_order_release);
    } else {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        out[lane] = data[31 - lane];
    }
}

// Between blocks: the later block waits for the earlier one.
__global__ void relay(int* chain, cuda::atomic<int, cuda::thread_scope_device>* turn) {
    int b = int(blockIdx.x);
    if (threadIdx.x == 0) {
        int seen = turn->load(cuda::memory_order_acquire);
        while (seen != b) {
            turn->wait(seen, cuda::memory_order_acquire);
            seen = turn->load(cuda::memory_order_acquire);
        }
        chain[b + 1] = chain[b] * 3 + b;
        turn->store(b + 1, cuda::memory_order_release);
        turn->notify_all();
    }
}

int main() {
    const int n = 256;
    Buffer<int> plain(1), failures(4), out(64);
    Buffer<unsigned> bits(2);
    Buffer<float> real(1);
    operations<<<4, 64>>>(plain, bits, real, failures, n);
    int counter = 0;
    unsigned long long high = 0;
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaMemcpyFromSymbol(&counter, global_counter, sizeof counter));
    CUDA_OK(cudaMemcpyFromSymbol(&high, wide, sizeof high));
    expect_equal("fetch_add", 0, n * (n - 1) / 2, counter);
    expect_equal("fetch_max", 0, (unsigned long long)(n - 1) << 32, high);
    expect_equal("fetch_sub", 0, -2 * n, plain.host()[0]);
    unsigned toggled = 0;
    for (int i = 0; i < n; i++) toggled ^= 1u << i % 7;
    expect_equal("fetch_or", 0, (1u << 30) - 1, bits.host()[0]);
    expect_equal("fetch_xor", 0, toggled, bits.host()[1]);
    expect_equal("float add", 0, n * 0.5f, real.host()[0]);
    auto f = failures.host();
    for (int k = 0; k < 4; k++) expect_equal("compare exchange", k, 63, f[k] / 1000);

    shared_scope<<<1, 50>>>(out);
    auto got = out.host();
    for (int t = 0; t < 50; t++) expect_equal("block scope", t, 100 + 49 * 25, got[t]);
    message<<<1, 64>>>(out);
    got = out.host();
    for (int t = 0; t < 32; t++) expect_equal("message", t, (31 - t) * 3, got[t]);

    const int blocks = 12;
    Buffer<int> chain(std::vector<int>(blocks + 1, 1)), turn(1);
    relay<<<blocks, 32>>>(chain, reinterpret_cast<cuda::atomic<int, cuda::thread_scope_device>*>(turn.data));
    auto c = chain.host();
    int e = 1;
    for (int b = 0; b < blocks; b++) e = e * 3 + b, expect_equal("relay", b, e, c[b + 1]);
    return passed();
}
