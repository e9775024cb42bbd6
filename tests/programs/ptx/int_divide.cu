// Division and remainder of every width and sign, by variables and by constants, in divergent code.
#include "../check.h"

// C and CUDA agree on truncation towards zero; the most negative value over -1 is avoided.
template <class T>
__global__ void divide(const T* a, const T* b, T* quotient, T* remainder, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        quotient[i] = a[i] / b[i];
        remainder[i] = a[i] % b[i];
    }
}

template <class T>
__global__ void by_constants(const T* a, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T x = a[i];
    out[i] = T(x / T(3) + x % T(7) + x / T(10) + x % T(16) + x / T(64) + x % T(100) + x / T(119));
}

// The divisor is zero in the lanes that do not divide: it must not matter there.
__global__ void guarded(const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int divisor = i % 3 ? b[i] : 0;
    int r = -1;
    if (divisor != 0) {
        r = a[i] / divisor;
        if (r & 1) r += a[i] % divisor;
    }
    out[i] = r;
}

template <class T>
void check(const char* name, uint64_t seed, int block) {
    const int n = 517;
    Random random(seed);
    std::vector<T> a(n), b(n);
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    for (int i = 0; i < n; i++) {
        a[i] = T(random.u64() >> random.below(63));
        b[i] = T(random.u64() >> random.below(63));
        if (random.below(8) == 0) a[i] = low;
        if (random.below(8) == 0) a[i] = high;
        if (random.below(8) == 0) b[i] = high;
        if (random.below(8) == 0) b[i] = T(1);
        if (b[i] == T(0)) b[i] = T(3);
        if (b[i] == T(-1) && a[i] == low) b[i] = T(5);
    }
    Buffer<T> da(a), db(b), q(n), r(n), c(n);
    divide<<<(n + block - 1) / block, block>>>(da.data, db.data, q.data, r.data, n);
    by_constants<<<(n + block - 1) / block, block>>>(da.data, c.data, n);
    auto hq = q.host(), hr = r.host(), hc = c.host();
    for (int i = 0; i < n; i++) {
        T x = a[i];
        expect_equal(name, i, T(a[i] / b[i]), hq[i]);
        expect_equal(name, i, T(a[i] % b[i]), hr[i]);
        using U = std::make_unsigned_t<T>;  // the sum may wrap
        U sum = U(x / T(3)) + U(x % T(7)) + U(x / T(10)) + U(x % T(16)) + U(x / T(64)) + U(x % T(100)) + U(x / T(119));
        expect_equal(name, i, T(sum), hc[i]);
    }
}

int main() {
    check<int8_t>("int8", 1, 32);
    check<uint8_t>("uint8", 2, 64);
    check<int16_t>("int16", 3, 40);
    check<uint16_t>("uint16", 4, 100);
    check<int32_t>("int32", 5, 128);
    check<uint32_t>("uint32", 6, 33);
    check<int64_t>("int64", 7, 96);
    check<uint64_t>("uint64", 8, 31);

    const int n = 250;
    Random random(9);
    std::vector<int> a(n), b(n), expected(n);
    for (int i = 0; i < n; i++) {
        a[i] = int(random.u32());
        b[i] = int(random.below(2000)) - 1000;
        int divisor = i % 3 ? b[i] : 0, r = -1;
        if (divisor != 0) {
            r = int(int64_t(a[i]) / divisor);
            if (r & 1) r += int(int64_t(a[i]) % divisor);
        }
        expected[i] = r;
    }
    Buffer<int> da(a), db(b), out(n);
    guarded<<<2, 125>>>(da, db, out, n);
    expect_all("guarded", expected, out.host());
    return passed();
}
