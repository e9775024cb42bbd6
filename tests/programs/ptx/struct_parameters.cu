// Kernel parameters: small and odd-sized structures, more than 256 bytes by value, many arguments,
// indexed parameters, arguments passed on to functions.
#include "../check.h"

struct Big { int numbers[60]; float scale; double offsets[12]; char tag[5]; const int* pointer; };
struct Odd { char a, b, c; };
struct Nested { Odd odd[3]; short s; struct { unsigned char low : 3, high : 5; } bits; float3 position; };
struct Empty {};
template <int N> struct Array { int v[N]; __host__ __device__ int operator[](int i) const { return v[i]; } };

static_assert(sizeof(Big) > 256, "large on purpose");

__global__ void large(Big big, int* out) {
    int t = threadIdx.x;
    int v = big.numbers[t % 60] + big.numbers[7];  // dynamic index into parameter space
    v += int(big.scale * float(big.offsets[t % 12])) + big.tag[t % 5] + big.pointer[t];
    out[t] = v;
}

__global__ void odd(Odd o, Nested n, Empty, Array<3> a, bool flag, signed char c, unsigned short us, int* out) {
    int t = threadIdx.x;
    int v = o.a + o.b * 2 + o.c * 3 + n.odd[t % 3].b * 5 + n.s + n.bits.low * 7 + n.bits.high * 11;
    v += a[t % 3] + int(n.position.z * 10) + c + us;
    out[t] = flag ? v : -v;
}

__global__ void many(char a, int b, short c, long long d, float e, double f, int* g, unsigned char h, int3 i, double2 j, char k, int* out) {
    out[threadIdx.x] = int(a + b + c + d + e + f + g[threadIdx.x] + h + i.x + i.y + i.z + j.x + j.y + k);
}

// The structure is changed locally and passed by value and by reference to functions.
__device__ __noinline__ Big shifted(Big b, int by) {
    for (int i = 0; i < 60; i++) b.numbers[i] += by * i;
    b.scale *= 2;
    return b;
}
__device__ __noinline__ int total(const Big& b) {
    int s = 0;
    for (int n : b.numbers) s += n;
    return s + int(b.scale);
}
__global__ void passed_on(Big big, int* out) {
    Big mine = shifted(big, int(threadIdx.x));
    mine.numbers[threadIdx.x % 60] = 1000;
    out[threadIdx.x] = total(mine) - total(big);
}

int main() {
    const int n = 90;
    std::vector<int> data(n);
    for (int i = 0; i < n; i++) data[i] = i * i;
    Buffer<int> dd(data), out(n);
    Big big = {};
    for (int i = 0; i < 60; i++) big.numbers[i] = i * 11 - 100;
    for (int i = 0; i < 12; i++) big.offsets[i] = i * 0.75;
    big.scale = 4;
    memcpy(big.tag, "abcd", 5);
    big.pointer = dd;
    large<<<1, n>>>(big, out);
    auto got = out.host();
    for (int t = 0; t < n; t++) {
        expect_equal("large", t, big.numbers[t % 60] + big.numbers[7] + int(4 * float(big.offsets[t % 12])) + big.tag[t % 5] + data[t], got[t]);
    }

    Odd o = {1, -2, 3};
    Nested nested = {{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, -300, {5, 21}, {0.5f, 1.5f, 2.5f}};
    odd<<<1, 35>>>(o, nested, Empty{}, Array<3>{{100, 200, 300}}, true, -7, 65000, out);
    got = out.host();
    for (int t = 0; t < 35; t++) {
        int v = 1 - 4 + 9 + nested.odd[t % 3].b * 5 - 300 + 5 * 7 + 21 * 11 + (t % 3 + 1) * 100 + 25 - 7 + 65000;
        expect_equal("odd", t, v, got[t]);
    }

    many<<<1, n>>>(-1, 2, -3, 4, 5.0f, 6.0, dd, 200, make_int3(7, 8, 9), make_double2(10, 11), 12, out);
    got = out.host();
    for (int t = 0; t < n; t++) expect_equal("many", t, -1 + 2 - 3 + 4 + 5 + 6 + data[t] + 200 + 24 + 21 + 12, got[t]);

    passed_on<<<1, n>>>(big, out);
    got = out.host();
    for (int t = 0; t < n; t++) {
        int index = t % 60;
        expect_equal("passed on", t, t * (59 * 60 / 2) + 1000 - (big.numbers[index] + t * index) + 4, got[t]);
    }
    return passed();
}
