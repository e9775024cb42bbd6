// Votes, ballots, match, activemask, find-nth-set and reductions of a warp (redux), full and partial.
#include "../check.h"

__global__ void votes(const int* in, unsigned* out) {
    int t = threadIdx.x;
    bool p = in[t] > 50;
    out[t] = __ballot_sync(~0u, p);
    out[64 + t] = __all_sync(~0u, in[t] < 99 + t / 32) * 2 + __any_sync(~0u, in[t] == 42);
    int uniform;
    asm volatile("{.reg .pred p, q;\n\tsetp.gt.s32 p, %1, 1000;\n\tvote.sync.uni.pred q, p, -1;\n\tselp.s32 %0, 1, 0, q;}" : "=r"(uniform) : "r"(in[t]));
    out[128 + t] = unsigned(uniform);
    if (t < 32 && t % 3 == 1) out[192 + t] = __ballot_sync(0x92492492, p);
}

__global__ void matches(const int* in, const unsigned long long* wide, unsigned* out) {
    int t = threadIdx.x, all;
    out[t] = __match_any_sync(~0u, in[t] % 5);
    out[64 + t] = __match_any_sync(~0u, wide[t]);
    unsigned same = __match_all_sync(~0u, t / 32 * 7, &all);
    out[128 + t] = same + unsigned(all);
    same = __match_all_sync(~0u, in[t] > 3 ? 1 : t + 100, &all);
    out[192 + t] = same * 2 + unsigned(all);
    if (t & 1) out[256 + t] = __match_any_sync(0xaaaaaaaa, in[t] % 3);
}

__global__ void reductions(const int* in, int* out) {
    int t = threadIdx.x, v = in[t] * 1000003;
    out[t] = __reduce_add_sync(~0u, v);
    out[64 + t] = __reduce_min_sync(~0u, v);
    out[128 + t] = __reduce_max_sync(~0u, v);
    out[192 + t] = int(__reduce_min_sync(~0u, unsigned(v)));
    out[256 + t] = int(__reduce_max_sync(~0u, unsigned(v)));
    out[320 + t] = int(__reduce_and_sync(~0u, unsigned(v) | 0xff));
    out[384 + t] = int(__reduce_or_sync(~0u, unsigned(v) & 0xf0f0));
    out[448 + t] = int(__reduce_xor_sync(~0u, unsigned(v)));
    if (t % 4 == 2) out[512 + t] = __reduce_add_sync(0x44444444, in[t]);
}

// Lanes of equal key add once through their leader; counts must come out as with plain atomics.
__global__ void aggregated(const int* keys, int* histogram, int* order, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned mask = __match_any_sync(__activemask(), keys[i]);
    int lane = threadIdx.x & 31, leader = __ffs(int(mask)) - 1, rank = __popc(mask & ((1u << lane) - 1)), base = 0;
    if (lane == leader) base = atomicAdd(&histogram[keys[i]], __popc(mask));
    base = __shfl_sync(mask, base, leader);
    order[i] = base + rank;
}

__global__ void nth(const unsigned* in, unsigned* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = __fns(in[i], i % 32, (i % 7) - 3);
}

// __fns: the position of the k-th set bit from `base` upwards (k > 0) or downwards (k < 0).
static unsigned find(unsigned mask, int base, int k) {
    if (k == 0) return mask >> base & 1 ? unsigned(base) : ~0u;
    int step = k > 0 ? 1 : -1, left = k > 0 ? k : -k;
    for (int b = base; b >= 0 && b < 32; b += step) if (mask >> b & 1 && --left == 0) return unsigned(b);
    return ~0u;
}

int main() {
    const int n = 64, count = 300;
    Random random(32);
    std::vector<int> in(n), keys(count);
    std::vector<unsigned long long> wide(n);
    std::vector<unsigned> masks(n);
    for (int i = 0; i < n; i++) in[i] = int(random.below(100)), wide[i] = (unsigned long long)random.below(3) << 40 | random.below(2), masks[i] = random.u32() & random.u32();
    for (int& k : keys) k = int(random.below(6));
    Buffer<int> din(in), out(576), dkeys(keys), histogram(6), order(count);
    Buffer<unsigned> uout(320), dmasks(masks);
    Buffer<unsigned long long> dwide(wide);

    votes<<<1, n>>>(din, uout);
    auto got = uout.host();
    for (int t = 0; t < n; t++) {
        int w = t & ~31;
        unsigned ballot = 0, all = 1, any = 0, some = 0;
        for (int l = 0; l < 32; l++) {
            ballot |= unsigned(in[w + l] > 50) << l;
            if ((w + l) % 3 == 1) some |= unsigned(in[w + l] > 50) << l;
            all &= in[w + l] < 99 + w / 32, any |= in[w + l] == 42;
        }
        expect_equal("ballot", t, ballot, got[t]);
        expect_equal("all any", t, all * 2 + any, got[64 + t]);
        expect_equal("uni", t, 1u, got[128 + t]);
        if (t < 32) expect_equal("partial ballot", t, t % 3 == 1 ? some : 0, got[192 + t]);
    }

    matches<<<1, n>>>(din, dwide, uout);
    got = uout.host();
    for (int t = 0; t < n; t++) {
        int w = t & ~31;
        unsigned any32 = 0, any64 = 0, odd = 0;
        bool same = true;
        for (int l = 0; l < 32; l++) {
            any32 |= unsigned(in[w + l] % 5 == in[t] % 5) << l;
            any64 |= unsigned(wide[w + l] == wide[t]) << l;
            if (l & 1) odd |= unsigned(in[w + l] % 3 == in[t] % 3) << l;
            same = same && in[w + l] > 3;
        }
        expect_equal("match any", t, any32, got[t]);
        expect_equal("match any 64", t, any64, got[64 + t]);
        expect_equal("match all", t, 0u, got[128 + t]);  // ~0 + 1
        expect_equal("match all", t, same ? ~0u * 2 + 1 : 0u, got[192 + t]);
        expect_equal("match odd", t, t & 1 ? odd : 0u, got[256 + t]);
    }

    reductions<<<1, n>>>(din, out);
    auto r = out.host();
    for (int t = 0; t < n; t++) {
        unsigned sum = 0, umin = ~0u, umax = 0, conjunction = ~0u, disjunction = 0, parity = 0, part = 0;
        int smin = INT32_MAX, smax = INT32_MIN;
        for (int l = 0; l < 32; l++) {
            unsigned v = unsigned(in[(t & ~31) + l]) * 1000003u;
            sum += v, umin = std::min(umin, v), umax = std::max(umax, v), smin = std::min(smin, int(v)), smax = std::max(smax, int(v));
            conjunction &= v | 0xff, disjunction |= v & 0xf0f0, parity ^= v;
            if (l % 4 == 2) part += unsigned(in[(t & ~31) + l]);
        }
        int e[9] = {int(sum), smin, smax, int(umin), int(umax), int(conjunction), int(disjunction), int(parity), t % 4 == 2 ? int(part) : 0};
        for (int k = 0; k < 9; k++) expect_equal("reduce", k * 64 + t, e[k], r[k * 64 + t]);
    }

    aggregated<<<5, 70>>>(dkeys, histogram, order, count);
    auto h = histogram.host(), o = order.host();
    std::vector<int> counts(6);
    for (int k : keys) counts[k]++;
    expect_all("histogram", counts, h);
    for (int k = 0; k < 6; k++) {  // the places given out for a key are 0..count-1, each once
        std::vector<int> places(counts[k]);
        for (int i = 0; i < count; i++) if (keys[i] == k && o[i] >= 0 && o[i] < counts[k]) places[o[i]]++;
        expect_all("places", std::vector<int>(counts[k], 1), places);
    }

    nth<<<1, 64>>>(dmasks, uout, n);
    got = uout.host();
    for (int i = 0; i < n; i++) expect_equal("fns", i, find(masks[i], i % 32, i % 7 - 3), got[i]);
    return passed();
}
