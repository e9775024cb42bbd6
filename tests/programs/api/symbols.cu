// __device__ and __constant__ variables: initial values, copies with offsets, address and size.
#include "check.h"

struct Config {
    float scale;
    int shift;
    short flags[3];
};

__constant__ float coefficients[16] = {1, 2, 3, 4};
__constant__ Config config = {0.5f, 3, {1, 2, 3}};
__device__ int totals[32] = {5, 6, 7};
__device__ double single = 2.75;
static __device__ unsigned long long hidden = 0x123456789abcdefull;
namespace inner {
__device__ int nested = -9;
}
template <int N>
__device__ int per_size[N];
__device__ const char* message = "text in device memory";

__global__ void use(float* out, int* length) {
    int i = threadIdx.x;
    out[i] = coefficients[i] * config.scale + config.shift + config.flags[2];
    totals[i] += i;
    if (i == 0) {
        single *= 2;
        hidden += 1;
        inner::nested += 1;
        per_size<8>[3] = 33;
        int n = 0;
        while (message[n]) n++;
        *length = n;
    }
}

int main() {
    float* d;
    int* d_length;
    CHECK(cudaMalloc(&d, 16 * sizeof(float)));
    CHECK(cudaMalloc(&d_length, sizeof(int)));
    float more[4] = {10, 20, 30, 40};
    CHECK(cudaMemcpyToSymbol(coefficients, more, sizeof(more), 4 * sizeof(float), cudaMemcpyHostToDevice));
    use<<<1, 16>>>(d, d_length);
    float out[16];
    CHECK(cudaMemcpy(out, d, sizeof(out), cudaMemcpyDeviceToHost));
    float wanted[16] = {1, 2, 3, 4, 10, 20, 30, 40};
    for (int i = 0; i < 16; i++) EXPECT_EQ(out[i], wanted[i] * 0.5f + 6);

    int t[32];
    CHECK(cudaMemcpyFromSymbol(t, totals, sizeof(t)));
    for (int i = 0; i < 32; i++) EXPECT_EQ(t[i], (i < 3 ? 5 + i : 0) + (i < 16 ? i : 0));
    CHECK(cudaMemcpyFromSymbol(t, totals, 2 * sizeof(int), 2 * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(t[0], 9);
    double s;
    CHECK(cudaMemcpyFromSymbol(&s, single, sizeof(s)));
    EXPECT_EQ(s, 5.5);
    unsigned long long h;
    CHECK(cudaMemcpyFromSymbol(&h, hidden, sizeof(h)));
    EXPECT_EQ(h, 0x123456789abcdf0ull);
    int nested, length, eight[8];
    CHECK(cudaMemcpyFromSymbol(&nested, inner::nested, sizeof(int)));
    EXPECT_EQ(nested, -8);
    CHECK(cudaMemcpyFromSymbol(eight, per_size<8>, sizeof(eight)));
    EXPECT_EQ(eight[3], 33);
    CHECK(cudaMemcpy(&length, d_length, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(length, 21);

    // Struct in constant memory, asynchronously; then the address, used as an ordinary pointer.
    Config other = {2, 100, {7, 8, 9}};
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyToSymbolAsync(config, &other, sizeof(other), 0, cudaMemcpyHostToDevice, stream));
    use<<<1, 16, 0, stream>>>(d, d_length);
    CHECK(cudaMemcpyFromSymbolAsync(t, totals, sizeof(t), 0, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQ(t[3], 6);
    CHECK(cudaMemcpy(out, d, sizeof(out), cudaMemcpyDeviceToHost));
    EXPECT_EQ(out[1], 2 * 2 + 100 + 9.0f);

    int* address;
    size_t bytes;
    CHECK(cudaGetSymbolAddress((void**)&address, totals));
    CHECK(cudaGetSymbolSize(&bytes, totals));
    EXPECT_EQ(bytes, 128u);
    CHECK(cudaGetSymbolSize(&bytes, config));
    EXPECT_EQ(bytes, sizeof(Config));
    CHECK(cudaMemset(address, 0, bytes));
    CHECK(cudaMemcpy(address + 31, &length, sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyFromSymbol(t, totals, sizeof(t)));
    EXPECT_EQ(t[0], 0);
    EXPECT_EQ(t[31], 21);
    // Past the end of the symbol.
    EXPECT_ERROR(cudaMemcpyToSymbol(totals, t, sizeof(t), 4), cudaErrorInvalidValue);
    int not_a_symbol = 0;
    EXPECT_ERROR(cudaGetSymbolSize(&bytes, not_a_symbol), cudaErrorInvalidSymbol);
    CHECK(cudaFree(d));
    CHECK(cudaFree(d_length));
    CHECK(cudaStreamDestroy(stream));
    return pass();
}
