// Launches that cannot run fail at once with CUDA's own codes, leave the context usable, and follow
// the rules of cudaGetLastError (returns and clears) and cudaPeekAtLastError (returns only).
#include "check.h"

#include <string>

__global__ void mark(int* out) { out[0] = 1; }
__global__ void with_dynamic(int* out) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = 1;
    out[0] = tile[threadIdx.x];
}
__global__ void __launch_bounds__(128) bounded(int* out) { out[0] = 1; }

static int* d;

// The code must be reported by peek (twice), by get, and then be gone; nothing may have run.
static void must_fail(cudaError_t wanted, const char* name, const char* text) {
    EXPECT_EQ(int(cudaPeekAtLastError()), int(wanted));
    EXPECT_EQ(int(cudaPeekAtLastError()), int(wanted));
    cudaError_t code = cudaGetLastError();
    EXPECT_EQ(int(code), int(wanted));
    EXPECT_EQ(std::string(cudaGetErrorName(code)), name);
    EXPECT_EQ(std::string(cudaGetErrorString(code)), text);
    EXPECT_EQ(int(cudaGetLastError()), int(cudaSuccess));
    CHECK(cudaDeviceSynchronize());
    int h = -1;
    CHECK(cudaMemcpy(&h, d, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(h, 0);
}

int main() {
    const char *configuration = "cudaErrorInvalidConfiguration", *configuration_text = "invalid configuration argument";
    CHECK(cudaMalloc(&d, sizeof(int)));
    CHECK(cudaMemset(d, 0, sizeof(int)));
    mark<<<1, 1025>>>(d);
    must_fail(cudaErrorInvalidConfiguration, configuration, configuration_text);
    mark<<<1, dim3(32, 33)>>>(d);
    must_fail(cudaErrorInvalidConfiguration, configuration, configuration_text);
    mark<<<1, dim3(1, 1, 65)>>>(d);
    must_fail(cudaErrorInvalidConfiguration, configuration, configuration_text);
    mark<<<0, 32>>>(d);
    must_fail(cudaErrorInvalidConfiguration, configuration, configuration_text);
    mark<<<1, 0>>>(d);
    must_fail(cudaErrorInvalidConfiguration, configuration, configuration_text);
    mark<<<dim3(1, 65536), 1>>>(d);
    must_fail(cudaErrorInvalidConfiguration, configuration, configuration_text);
    mark<<<dim3(1, 1, 65536), 1>>>(d);
    must_fail(cudaErrorInvalidConfiguration, configuration, configuration_text);
    with_dynamic<<<1, 32, (48 << 10) + 4>>>(d);
    must_fail(cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument");
    with_dynamic<<<1, 32, 1 << 30>>>(d);
    must_fail(cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument");

    // More threads than the kernel's launch bounds allow.
    bounded<<<1, 256>>>(d);
    EXPECT(cudaGetLastError() != cudaSuccess);
    bounded<<<1, 128>>>(d);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    int h = -1;
    CHECK(cudaMemcpy(&h, d, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(h, 1);

    // A later good call does not clear an earlier error.
    mark<<<1, 2000>>>(d);
    mark<<<1, 1>>>(d);
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(int(cudaGetLastError()), int(cudaErrorInvalidConfiguration));
    EXPECT_EQ(int(cudaGetLastError()), int(cudaSuccess));
    CHECK(cudaFree(d));
    return pass();
}
