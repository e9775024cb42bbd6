// Templates, functors, lambdas inside kernels, variadic packs, constexpr tables, operator overloading,
// small matrices: C++ that must come out as the same numbers.
#include "../check.h"

struct AddTo { int k; __host__ __device__ int operator()(int x) const { return x + k; } };
struct Scale { float s; __host__ __device__ float operator()(float x) const { return x * s; } };

template <class T, class F>
__global__ void transform(const T* in, T* out, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(in[i]);
}

template <class T> __host__ __device__ T sum_of(T v) { return v; }
template <class T, class... R> __host__ __device__ T sum_of(T v, R... rest) { return v + sum_of<T>(rest...); }

template <int N> struct Factorial { static constexpr long long value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr long long value = 1; };

template <class T>
struct Complex {
    T re, im;
    __host__ __device__ Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
    __host__ __device__ Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    __host__ __device__ bool operator<(const Complex& o) const { return re * re + im * im < o.re * o.re + o.im * o.im; }
};

template <int N>
struct Polynomial {
    int c[N];
    constexpr __host__ __device__ int at(int x) const { int r = 0; for (int i = N - 1; i >= 0; i--) r = r * x + c[i]; return r; }
};

template <class T, int ROWS, int COLUMNS>
struct Matrix {
    T v[ROWS][COLUMNS];
    template <int K>
    __host__ __device__ Matrix<T, ROWS, K> times(const Matrix<T, COLUMNS, K>& o) const {
        Matrix<T, ROWS, K> r = {};
        for (int i = 0; i < ROWS; i++) for (int j = 0; j < K; j++) for (int k = 0; k < COLUMNS; k++) r.v[i][j] += v[i][k] * o.v[k][j];
        return r;
    }
};

template <class Visitor>
__host__ __device__ void visit(int n, Visitor&& visitor) { for (int i = 0; i < n; i++) if (!visitor(i)) break; }

__host__ __device__ inline int everything(int i) {
    int calls = 0;
    auto count = [&calls](int by) { calls += by; return calls; };
    auto twice = [&](auto f, int x) { return f(f(x)); };
    int r = twice(count, i % 5) + twice([i](int x) { return x * 2 + i; }, 3);
    visit(i % 9 + 1, [&](int k) { r += k * k; return r % 7 != 3; });
    r += sum_of(i, 2, 3, 4 * i) + int(Factorial<12>::value % (i + 1000));
    constexpr Polynomial<4> p = {{1, -2, 0, 3}};
    static_assert(p.at(2) == 21, "constexpr");
    r += p.at(i % 10);
    Complex<int> z = {i % 7, 2}, w = {1, i % 3};
    for (int k = 0; k < 4; k++) z = z * w + Complex<int>{k, -1};
    r += z < w ? 1 : z.re - z.im;
    Matrix<int, 2, 3> a = {{{i, 1, 2}, {3, i % 4, 5}}};
    Matrix<int, 3, 2> b = {{{1, 2}, {3, 4}, {5, i % 6}}};
    auto c = a.times(b);
    return r + c.v[0][0] + 2 * c.v[0][1] - 3 * c.v[1][0] + c.v[1][1];
}

__global__ void all(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = everything(i);
}

template <class T, int SIZE>
__global__ void reverse(T* data) {
    __shared__ T tile[SIZE];  // one static array per instantiation
    tile[threadIdx.x] = data[blockIdx.x * SIZE + threadIdx.x];
    __syncthreads();
    data[blockIdx.x * SIZE + threadIdx.x] = tile[SIZE - 1 - threadIdx.x];
}

template <class T, int SIZE>
void check_reverse(const char* what) {
    std::vector<T> values(3 * SIZE);
    for (size_t i = 0; i < values.size(); i++) values[i] = T(i * 3 + 1);
    Buffer<T> data(values);
    reverse<T, SIZE><<<3, SIZE>>>(data);
    auto got = data.host();
    for (int i = 0; i < 3 * SIZE; i++) expect_equal(what, i, values[i / SIZE * SIZE + SIZE - 1 - i % SIZE], got[i]);
}

int main() {
    const int n = 220;
    std::vector<int> in(n);
    std::vector<float> fin(n);
    for (int i = 0; i < n; i++) in[i] = i * 3 - 70, fin[i] = i * 0.25f;
    Buffer<int> din(in), dout(n);
    Buffer<float> dfin(fin), dfout(n);
    transform<<<4, 64>>>(din.data, dout.data, n, AddTo{17});
    transform<<<4, 64>>>(dfin.data, dfout.data, n, Scale{-1.5f});
    auto g = dout.host();
    auto f = dfout.host();
    for (int i = 0; i < n; i++) {
        expect_equal("functor", i, in[i] + 17, g[i]);
        expect_equal("functor", i, fin[i] * -1.5f, f[i]);
    }
    all<<<2, 110>>>(dout, n);
    g = dout.host();
    for (int i = 0; i < n; i++) expect_equal("everything", i, everything(i), g[i]);
    check_reverse<char, 33>("char");
    check_reverse<short, 64>("short");
    check_reverse<double, 100>("double");
    check_reverse<long long, 1024>("long long");
    return passed();
}
