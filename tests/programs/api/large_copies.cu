// Copies larger than the staging area between program and device, of sizes around its multiples.
#include "check.h"

int main() {
    const size_t ring = size_t(8) << 20;
    for (size_t bytes : {ring - 4, ring, ring + 4, 2 * ring - 4, 2 * ring, 4 * ring + 4}) {
        std::vector<int> in(bytes / 4), out(bytes / 4);
        for (size_t i = 0; i < in.size(); i++) in[i] = int(i * 7 + 1);
        int* d;
        CHECK(cudaMalloc(&d, bytes));
        CHECK(cudaMemcpy(d, in.data(), bytes, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(out.data(), d, bytes, cudaMemcpyDeviceToHost));
        EXPECT(in == out);
        CHECK(cudaFree(d));
    }
    return pass();
}
