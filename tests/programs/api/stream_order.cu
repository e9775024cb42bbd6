// Order across streams by events; host functions and callbacks run in stream order.
#include "check.h"

#include <atomic>

__global__ void multiply_add(long long* value, long long factor, long long term) {
    *value = *value * factor + term;
}

struct Log {
    std::atomic<int> length{0};
    int entries[64];
    void add(int entry) { entries[length++] = entry; }
};

struct Entry {
    Log* log;
    int number;
};

void CUDART_CB host_function(void* data) {
    Entry* entry = static_cast<Entry*>(data);
    entry->log->add(entry->number);
}

void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void* data) {
    Entry* entry = static_cast<Entry*>(data);
    entry->log->add(status == cudaSuccess ? entry->number : -1);
    (void)stream;
}

int main() {
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    cudaEvent_t from_a, from_b;
    CHECK(cudaEventCreateWithFlags(&from_a, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&from_b, cudaEventDisableTiming));
    long long *d, wanted = 1, found = 0;
    CHECK(cudaMalloc(&d, sizeof(long long)));
    CHECK(cudaMemcpy(d, &wanted, sizeof(wanted), cudaMemcpyHostToDevice));

    // Ping-pong: each step depends on the one before, in the other stream.
    for (int i = 0; i < 10; i++) {
        multiply_add<<<1, 1, 0, a>>>(d, 3, i);
        CHECK(cudaEventRecord(from_a, a));
        CHECK(cudaStreamWaitEvent(b, from_a, 0));
        multiply_add<<<1, 1, 0, b>>>(d, 2, 1);
        CHECK(cudaEventRecord(from_b, b));
        CHECK(cudaStreamWaitEvent(a, from_b));
        wanted = (wanted * 3 + i) * 2 + 1;
    }
    CHECK(cudaMemcpyAsync(&found, d, sizeof(found), cudaMemcpyDeviceToHost, a));
    CHECK(cudaStreamSynchronize(a));
    EXPECT_EQ(found, wanted);

    // A stream may wait for an event that was never recorded.
    cudaEvent_t idle;
    CHECK(cudaEventCreate(&idle));
    CHECK(cudaStreamWaitEvent(a, idle, 0));
    CHECK(cudaStreamSynchronize(a));

    Log log;
    Entry entries[20];
    for (int i = 0; i < 20; i++) {
        entries[i] = {&log, i};
        multiply_add<<<1, 1, 0, a>>>(d, 1, 1);
        if (i % 2) {
            CHECK(cudaLaunchHostFunc(a, host_function, &entries[i]));
        } else {
            CHECK(cudaStreamAddCallback(a, callback, &entries[i], 0));
        }
    }
    CHECK(cudaStreamSynchronize(a));
    EXPECT_EQ(log.length.load(), 20);
    for (int i = 0; i < 20; i++) EXPECT_EQ(log.entries[i], i);

    // What a host function writes is seen by later work of the stream.
    static long long pinned_source = 0;
    CHECK(cudaLaunchHostFunc(b, [](void* p) { *static_cast<long long*>(p) = 777; }, &pinned_source));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaMemcpyAsync(d, &pinned_source, sizeof(long long), cudaMemcpyHostToDevice, b));
    multiply_add<<<1, 1, 0, b>>>(d, 10, 7);
    CHECK(cudaMemcpyAsync(&found, d, sizeof(found), cudaMemcpyDeviceToHost, b));
    CHECK(cudaStreamSynchronize(b));
    EXPECT_EQ(found, 7777);
    CHECK(cudaEventDestroy(from_a));
    CHECK(cudaEventDestroy(from_b));
    CHECK(cudaEventDestroy(idle));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaFree(d));
    return pass();
}
