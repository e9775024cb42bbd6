// One warp-wide operation of the source in several places of the machine code: nvcc unrolls the loop and adds
// a remainder, so that lanes of one member mask meet at different instructions.
#include "../check.h"

__global__ void shrinking(const int* trips, int* out) {
    int lane = threadIdx.x, mine = trips[lane], sum = 0;
    unsigned mask = __ballot_sync(~0u, mine > 0);
    for (int k = 0; k < mine; k++) {
        sum += __popc(mask) + __shfl_sync(mask, lane * 3 + k, __ffs(mask) - 1);
        mask = __ballot_sync(mask, k + 1 < mine);
    }
    out[lane] = sum;
}

// The two sides of a branch vote and shuffle together.
__global__ void both_sides(const int* in, int* out) {
    int lane = threadIdx.x, v = in[lane], result;
    if (v % 3 == 0) {
        result = 1000 + __shfl_sync(~0u, v * 2, (lane + 5) % 32);
    } else {
        int other = v * v;
        result = __shfl_sync(~0u, other, (lane + 5) % 32) - 1000;
    }
    out[lane] = result;
}

int main() {
    Random random(7);
    std::vector<int> trips(32), in(32);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 32; i++) trips[i] = int(random.u32() % 14), in[i] = int(random.u32() % 50);
        std::vector<int> sums(32, 0);
        for (int k = 0; k < 14; k++) {
            int active = 0, first = -1;
            for (int i = 0; i < 32; i++)
                if (trips[i] > k) active++, first = first < 0 ? i : first;
            for (int i = 0; i < 32; i++)
                if (trips[i] > k) sums[i] += active + first * 3 + k;
        }
        Buffer<int> t(trips), a(in), out(32);
        shrinking<<<1, 32>>>(t, out);
        expect_all("shrinking", sums, out.host());

        std::vector<int> expected(32);
        for (int i = 0; i < 32; i++) {
            int from = in[(i + 5) % 32], value = from % 3 == 0 ? from * 2 : from * from;
            expected[i] = in[i] % 3 == 0 ? 1000 + value : value - 1000;
        }
        both_sides<<<1, 32>>>(a, out);
        expect_all("both sides", expected, out.host());
    }
    return passed();
}
