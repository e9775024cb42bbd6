// Integer atomics of every operation on global and shared memory, 32 and 64 bits, with the values they
// return, device, block and system scope.
#include "../check.h"

typedef unsigned long long U64;

// CUDA has no signed 64-bit add: the bits are the same.
__device__ void atomicAdd(long long* a, long long v) { atomicAdd((U64*)a, U64(v)); }
__device__ void atomicAdd_block(long long* a, long long v) { atomicAdd_block((U64*)a, U64(v)); }
__device__ void atomicAdd_system(long long* a, long long v) { atomicAdd_system((U64*)a, U64(v)); }

// One accumulator per operation; every operation but exchange gives the same total in any order.
template <class T>
__device__ void accumulate(T* a, T v, int i) {
    atomicAdd(&a[0], v);
    atomicMin(&a[1], v);
    atomicMax(&a[2], v);
    atomicAnd(&a[3], v | T(0xff00));
    atomicOr(&a[4], v & T(0x0ff0));
    atomicXor(&a[5], v);
    if (i % 2) atomicAdd_block(&a[6], v); else atomicAdd_system(&a[6], T(1));
    atomicMax_system(&a[7], v / 2);
}

template <class T>
__global__ void global_atomics(const T* in, T* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) accumulate(a, in[i], i);
}

template <class T>
__global__ void shared_atomics(const T* in, T* out, int n) {
    __shared__ T a[8];
    if (threadIdx.x < 8) a[threadIdx.x] = threadIdx.x == 1 || threadIdx.x == 3 ? out[threadIdx.x] : T(0);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) accumulate(a, in[i], i);
    __syncthreads();
    if (threadIdx.x < 8) out[threadIdx.x] = a[threadIdx.x];
}

template <class T>
void check(const char* what, uint64_t seed) {
    const int n = 500;
    Random random(seed);
    std::vector<T> in(n), start(8, T(0));
    for (T& v : in) v = T(random.u64() >> random.below(60));
    start[1] = std::numeric_limits<T>::max(), start[3] = T(~T(0));
    std::vector<T> e = start;
    for (int i = 0; i < n; i++) {
        T v = in[i];
        e[0] = T(uint64_t(e[0]) + uint64_t(v)), e[1] = std::min(e[1], v), e[2] = std::max(e[2], v), e[3] &= v | T(0xff00), e[4] |= v & T(0x0ff0), e[5] ^= v;
        e[6] = T(uint64_t(e[6]) + uint64_t(i % 2 ? v : T(1))), e[7] = std::max(e[7], T(v / 2));
    }
    Buffer<T> din(in), a(start), b(start);
    global_atomics<<<7, 75>>>(din.data, a.data, n);
    expect_all(what, e, a.host());
    shared_atomics<<<1, 96>>>(din.data, b.data, n);
    expect_all(what, e, b.host());
}

// Returned values: tickets are unique, inc and dec wrap, exchange passes values on, CAS succeeds once.
__global__ void returned(int* counters, unsigned* wraps, int* tickets, unsigned* inc, unsigned* dec, int* exchanged, int* winners, U64* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    tickets[i] = atomicAdd(&counters[0], 1);
    inc[i] = atomicInc(&wraps[0], 9);
    dec[i] = atomicDec(&wraps[1], 6);
    exchanged[i] = atomicExch(&counters[1], i + 1);
    if (atomicCAS(&counters[2 + i % 5], 0, i + 1) == 0) atomicAdd(&winners[i % 5], 1);
    U64 old = wide[0], assumed;  // 64-bit CAS loop: multiply by 3 modulo 2^64
    do {
        assumed = old;
        old = atomicCAS(&wide[0], assumed, assumed * 3);
    } while (old != assumed);
    atomicExch(&wide[1 + i % 3], U64(i) << 33);
    atomicSub(&counters[7], 2);
    unsigned short* halves = reinterpret_cast<unsigned short*>(&wide[4]);
    unsigned short seen = halves[i % 2], guess;  // 16-bit compare and swap
    do { guess = seen; seen = atomicCAS(&halves[i % 2], guess, (unsigned short)(guess + 1)); } while (seen != guess);
}

int main() {
    check<int>("int", 35);
    check<unsigned>("unsigned", 36);
    check<long long>("long long", 37);
    check<U64>("unsigned long long", 38);

    const int n = 330;
    Buffer<int> counters(8), tickets(n), exchanged(n), winners(5);
    Buffer<unsigned> wraps(2), inc(n), dec(n);
    Buffer<U64> wide(std::vector<U64>{1, 0, 0, 0, 0});
    returned<<<6, 55>>>(counters, wraps, tickets, inc, dec, exchanged, winners, wide, n);
    auto c = counters.host(), t = tickets.host(), x = exchanged.host(), w = winners.host();
    auto wr = wraps.host(), hi = inc.host(), hd = dec.host();
    auto big = wide.host();
    std::vector<int> seen(n), exchange(n + 1), ups(10), downs(7);
    for (int i = 0; i < n; i++) seen[t[i]]++, exchange[x[i]]++, ups[hi[i]]++, downs[hd[i]]++;
    expect_all("tickets", std::vector<int>(n, 1), seen);
    exchange[c[1]]++;  // the last one is still there
    expect_all("exchange", std::vector<int>(n + 1, 1), exchange);
    for (int k = 0; k < 10; k++) expect_equal("inc", k, n / 10, ups[k]);
    for (int k = 0; k < 7; k++) expect_equal("dec", k, n / 7 + (k == 0 || k > 6 - (n % 7 - 1)), downs[k]);
    expect_equal("inc end", 0, unsigned(n % 10), wr[0]);
    expect_equal("dec end", 0, unsigned((7 * n - n) % 7), wr[1]);
    for (int k = 0; k < 5; k++) {
        expect_equal("winners", k, 1, w[k]);
        expect_equal("winner index", k, k, (c[2 + k] - 1) % 5);
    }
    U64 power = 1;
    for (int i = 0; i < n; i++) power *= 3;
    expect_equal("cas loop", 0, power, big[0]);
    for (int k = 0; k < 3; k++) expect_equal("wide exchange", k, U64(k), (big[1 + k] >> 33) % 3);
    expect_equal("sub", 0, -2 * n, c[7]);
    expect_equal("16-bit cas", 0, U64(n / 2) << 16 | U64(n / 2), big[4]);
    return passed();
}
