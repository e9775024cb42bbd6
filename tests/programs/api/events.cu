// Events: record, query, synchronise; elapsed times are positive, additive and grow with the work.
#include "check.h"

#include <cmath>

__global__ void spin(float* out, int rounds) {
    float v = threadIdx.x;
    for (int i = 0; i < rounds; i++) v = v * 1.0001f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

int main() {
    float* d;
    CHECK(cudaMalloc(&d, 16 * 64 * sizeof(float)));
    cudaEvent_t a, b, c;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    CHECK(cudaEventCreateWithFlags(&c, cudaEventBlockingSync));
    CHECK(cudaEventQuery(a));  // never recorded: complete
    float ms = -1;
    EXPECT_ERROR(cudaEventElapsedTime(&ms, a, b), cudaErrorInvalidResourceHandle);

    spin<<<16, 64>>>(d, 10);  // the first launch may include compilation
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(a));
    spin<<<16, 64>>>(d, 200);
    CHECK(cudaEventRecord(b));
    spin<<<16, 64>>>(d, 200);
    spin<<<16, 64>>>(d, 200);
    CHECK(cudaEventRecord(c, 0));
    CHECK(cudaEventSynchronize(c));
    CHECK(cudaEventQuery(a));
    CHECK(cudaEventQuery(c));
    float ab, bc, ac;
    CHECK(cudaEventElapsedTime(&ab, a, b));
    CHECK(cudaEventElapsedTime(&bc, b, c));
    CHECK(cudaEventElapsedTime(&ac, a, c));
    EXPECT(ab > 0 && bc > 0 && ac > 0);
    EXPECT(std::isfinite(ac));
    EXPECT(std::fabs(ac - (ab + bc)) <= 1e-3f + 1e-3f * ac);

    // Recording again moves the event.
    CHECK(cudaEventRecord(a));
    CHECK(cudaEventSynchronize(a));
    float later;
    CHECK(cudaEventElapsedTime(&later, c, a));
    EXPECT(later >= 0);

    // Without timing an event cannot be measured, only waited for.
    cudaEvent_t untimed;
    CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CHECK(cudaEventRecord(untimed));
    CHECK(cudaEventSynchronize(untimed));
    EXPECT_ERROR(cudaEventElapsedTime(&ms, a, untimed), cudaErrorInvalidResourceHandle);

    // In a stream of its own.
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventRecord(a, stream));
    spin<<<16, 64, 0, stream>>>(d, 50);
    CHECK(cudaEventRecordWithFlags(b, stream, cudaEventRecordDefault));
    CHECK(cudaEventSynchronize(b));
    CHECK(cudaEventElapsedTime(&ms, a, b));
    EXPECT(ms > 0);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaEventDestroy(a));
    CHECK(cudaEventDestroy(b));
    CHECK(cudaEventDestroy(c));
    CHECK(cudaEventDestroy(untimed));
    CHECK(cudaFree(d));
    return pass();
}
