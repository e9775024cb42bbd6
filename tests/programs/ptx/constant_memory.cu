// __constant__ memory: scalars, tables indexed uniformly and divergently, structures, pointers, symbols.
#include "../check.h"

struct Settings { int scale; float bias; unsigned char flags[6]; double limit; };

__constant__ int table[64];
__constant__ Settings settings = {3, 0.5f, {1, 2, 3, 4, 5, 6}, 2.5};
__constant__ short primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ float matrix[4][5];
__constant__ char text[] = "constant text";
__constant__ const int* pointer;
__constant__ double coefficients[3] = {1.0, -0.5, 0.25};

__global__ void lookups(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = table[5] + table[blockIdx.x];                  // uniform
    sum += table[(i * 37) & 63];                             // each lane its own
    if (i & 1) sum += primes[i & 7] * settings.scale;        // in a divergent branch
    else sum -= settings.flags[i % 6];
    for (int k = 0; k < (i & 7); k++) sum += table[k] * primes[k];
    sum += text[i % 13] + pointer[i % 10];
    out[i] = sum;
}

__global__ void affine(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[5];
    for (int c = 0; c < 5; c++) v[c] = in[i] + c;
    float total = settings.bias;
    for (int r = 0; r < 4; r++) {
        for (int c = 0; c < 5; c++) total += matrix[r][c] * v[c];
    }
    double x = total / 64, poly = coefficients[0] + x * (coefficients[1] + x * coefficients[2]);
    out[i] = float(poly < settings.limit ? poly : settings.limit);
}

// A constant's address as a generic pointer.
__device__ __noinline__ int sum_through(const int* p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += p[i];
    return s;
}
__global__ void generic_read(const int* other, int* out) {
    const int* p = threadIdx.x % 3 == 0 ? table : other;
    out[threadIdx.x] = sum_through(p + threadIdx.x % 8, 10);
}

int main() {
    const int n = 300;
    Random random(23);
    std::vector<int> host_table(64), numbers(32);
    for (int& v : host_table) v = int(random.below(1000)) - 500;
    for (int& v : numbers) v = int(random.below(100));
    float host_matrix[4][5];
    for (auto& row : host_matrix) for (float& v : row) v = float(random.below(16)) / 8 - 1;
    Buffer<int> dn(numbers), out(n);
    CUDA_OK(cudaMemcpyToSymbol(table, host_table.data(), 64 * sizeof(int)));
    CUDA_OK(cudaMemcpyToSymbol(matrix, host_matrix, sizeof host_matrix));
    const int* address = dn;
    CUDA_OK(cudaMemcpyToSymbol(pointer, &address, sizeof address));
    const short host_primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    const char* host_text = "constant text";

    lookups<<<4, 75>>>(out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) {
        int sum = host_table[5] + host_table[i / 75] + host_table[(i * 37) & 63];
        sum += i & 1 ? host_primes[i & 7] * 3 : -(i % 6 + 1);
        for (int k = 0; k < (i & 7); k++) sum += host_table[k] * host_primes[k];
        sum += host_text[i % 13] + numbers[i % 10];
        expect_equal("lookups", i, sum, got[i]);
    }

    std::vector<float> in(n);
    for (float& v : in) v = float(random.below(64)) / 16;
    Buffer<float> din(in), dout(n);
    affine<<<3, 100>>>(din, dout, n);
    auto g = dout.host();
    for (int i = 0; i < n; i++) {
        double total = 0.5;
        for (auto& row : host_matrix) for (int c = 0; c < 5; c++) total += double(row[c]) * (in[i] + c);
        double x = total / 64, poly = 1.0 + x * (-0.5 + x * 0.25);
        expect_near("affine", i, poly < 2.5 ? poly : 2.5, g[i], 1e-6);
    }

    // Change part of a symbol and read it again.
    int changed[2] = {7777, -8888};
    CUDA_OK(cudaMemcpyToSymbol(table, changed, sizeof changed, 3 * sizeof(int)));
    host_table[3] = 7777, host_table[4] = -8888;
    int back[64];
    CUDA_OK(cudaMemcpyFromSymbol(back, table, sizeof back));
    for (int i = 0; i < 64; i++) expect_equal("symbol", i, host_table[i], back[i]);
    generic_read<<<1, 50>>>(dn, out);
    got = out.host();
    for (int t = 0; t < 50; t++) {
        int sum = 0;
        for (int k = 0; k < 10; k++) sum += t % 3 == 0 ? host_table[t % 8 + k] : numbers[t % 8 + k];
        expect_equal("generic", t, sum, got[t]);
    }
    return passed();
}
