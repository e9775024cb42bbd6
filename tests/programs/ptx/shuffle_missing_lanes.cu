// A shuffle whose source lane does not exist, or has left, gives 0, as on a card: reductions of blocks that are no
// whole warps add nothing for the lanes that are missing. A source outside the segment gives the own value.
#include "../check.h"

__global__ void reduce(const int* in, int* out) {
    int sum = in[threadIdx.x];
    for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) *out = sum;
}

__global__ void some_leave(const int* in, int* out, int count) {
    int value = in[threadIdx.x];
    if (int(threadIdx.x) >= count) return;
    out[threadIdx.x] = __shfl_down_sync((1u << count) - 1, value, 4);
}

__global__ void outside(const int* in, int* out, int by) {
    out[threadIdx.x] = __shfl_up_sync(0xffffffffu, in[threadIdx.x], by);
}

int main() {
    std::vector<int> values(32);
    for (int i = 0; i < 32; i++) values[i] = 100 + i;
    Buffer<int> in(values), out(32);
    for (int threads : {8, 16, 20, 32}) {
        reduce<<<1, threads>>>(in, out);
        int sum = 0;
        for (int i = 0; i < threads; i++) sum += values[i];
        expect_all("sum", std::vector<int>{sum}, std::vector<int>{out.host()[0]});
    }
    some_leave<<<1, 32>>>(in, out, 12);
    std::vector<int> expected(12), actual = out.host();
    for (int i = 0; i < 12; i++) expected[i] = i + 4 < 12 ? values[i + 4] : 0;
    actual.resize(12);
    expect_all("left", expected, actual);
    outside<<<1, 32>>>(in, out, 5);
    std::vector<int> shifted(32);
    for (int i = 0; i < 32; i++) shifted[i] = i < 5 ? values[i] : values[i - 5];
    expect_all("outside", shifted, out.host());
    return passed();
}
