// cudaMalloc and cudaMemcpy in every direction, cudaMemcpyDefault, partial and unaligned copies.
#include "check.h"

__global__ void add_one(int* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += 1;
}

int main() {
    const int n = 1000;
    std::vector<int> in(n), out(n, -1);
    for (int i = 0; i < n; i++) in[i] = 3 * i - 7;
    int *a, *b;
    CHECK(cudaMalloc(&a, n * sizeof(int)));
    CHECK(cudaMalloc((void**)&b, n * sizeof(int)));
    EXPECT(a != b);
    EXPECT_EQ(size_t(a) % 256, 0u);
    CHECK(cudaMemcpy(a, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    add_one<<<(n + 127) / 128, 128>>>(a, n);
    CHECK(cudaMemcpy(b, a, n * sizeof(int), cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(out.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT_EQ(out[i], in[i] + 1);

    // The direction follows from the pointers.
    CHECK(cudaMemcpy(b, in.data(), n * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaMemcpy(a, b, n * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaMemcpy(out.data(), a, n * sizeof(int), cudaMemcpyDefault));
    for (int i = 0; i < n; i++) EXPECT_EQ(out[i], in[i]);

    std::vector<int> copy(n, 0);
    CHECK(cudaMemcpy(copy.data(), in.data(), n * sizeof(int), cudaMemcpyHostToHost));
    EXPECT(copy == in);
    CHECK(cudaMemcpy(copy.data(), out.data(), n * sizeof(int), cudaMemcpyDefault));
    EXPECT(copy == out);

    // Interior pointers and odd byte counts.
    const char* text = "unaligned bytes";
    char* bytes = reinterpret_cast<char*>(b) + 13;
    CHECK(cudaMemcpy(bytes, text, 15, cudaMemcpyHostToDevice));
    char back[16] = {};
    CHECK(cudaMemcpy(back, bytes, 15, cudaMemcpyDeviceToHost));
    EXPECT(strcmp(back, text) == 0);
    CHECK(cudaMemcpy(out.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(out[2], in[2]);
    EXPECT_EQ(out[8], in[8]);

    // Nothing to copy is not an error, and no memory at all is a null pointer.
    CHECK(cudaMemcpy(b, in.data(), 0, cudaMemcpyHostToDevice));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(nullptr));

    // Larger than any staging area would be comfortable with: a few odd megabytes.
    size_t big = (5u << 20) + 3;
    std::vector<unsigned char> pattern(big), echo(big);
    for (size_t i = 0; i < big; i++) pattern[i] = (unsigned char)(i * 131 + (i >> 11));
    unsigned char *first, *second;
    CHECK(cudaMalloc(&first, big));
    CHECK(cudaMalloc(&second, big));
    CHECK(cudaMemcpy(first, pattern.data(), big, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(second + 1, first + 1, big - 1, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(echo.data() + 1, second + 1, big - 1, cudaMemcpyDeviceToHost));
    echo[0] = pattern[0];
    EXPECT(echo == pattern);
    CHECK(cudaFree(first));
    CHECK(cudaFree(second));
    CHECK(cudaGetLastError());
    return pass();
}
