// Many streams with many small launches, interleaved: nothing is lost and each stream keeps its order.
#include "check.h"

__global__ void append(unsigned long long* value, int digit) { *value = *value * 5 + digit; }

int main() {
    const int streams = 16, rounds = 12;
    unsigned long long* d;
    CHECK(cudaMalloc(&d, streams * sizeof(*d)));
    CHECK(cudaMemset(d, 0, streams * sizeof(*d)));
    std::vector<cudaStream_t> all(streams);
    for (auto& stream : all) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned long long> wanted(streams, 0), found(streams);
    for (int r = 0; r < rounds; r++)
        for (int s = 0; s < streams; s++) {
            int digit = (r * 3 + s) % 5;
            append<<<1, 1, 0, all[s]>>>(d + s, digit);
            wanted[s] = wanted[s] * 5 + digit;
        }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(found.data(), d, streams * sizeof(*d), cudaMemcpyDeviceToHost));
    for (int s = 0; s < streams; s++) {
        EXPECT_EQ(found[s], wanted[s]);
        CHECK(cudaStreamQuery(all[s]));
        CHECK(cudaStreamDestroy(all[s]));
    }
    CHECK(cudaFree(d));
    return pass();
}
