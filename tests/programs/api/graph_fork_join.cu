// Capture that forks into other streams by events and joins again; the errors of a bad capture.
#include "check.h"

__global__ void step(double* x, double factor, double term) {
    x[threadIdx.x] = x[threadIdx.x] * factor + term;
}
__global__ void join(double* out, const double* a, const double* b, const double* c) {
    int i = threadIdx.x;
    out[i] = a[i] * 10000 + b[i] * 100 + c[i];
}

int main() {
    const int n = 64;
    double *a, *b, *c, *out;
    for (double** p : {&a, &b, &c, &out}) {
        CHECK(cudaMalloc(p, n * sizeof(double)));
        CHECK(cudaMemset(*p, 0, n * sizeof(double)));
    }
    cudaStream_t s1, s2, s3;
    for (cudaStream_t* s : {&s1, &s2, &s3}) CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    cudaEvent_t fork, done2, done3;
    for (cudaEvent_t* e : {&fork, &done2, &done3}) CHECK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));

    CHECK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
    step<<<1, n, 0, s1>>>(a, 1, 1);
    CHECK(cudaEventRecord(fork, s1));
    CHECK(cudaStreamWaitEvent(s2, fork, 0));
    CHECK(cudaStreamWaitEvent(s3, fork, 0));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(s2, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    step<<<1, n, 0, s2>>>(b, 2, 1);
    step<<<1, n, 0, s3>>>(c, 3, 1);
    step<<<1, n, 0, s1>>>(a, 2, 0);
    CHECK(cudaEventRecord(done2, s2));
    CHECK(cudaEventRecord(done3, s3));
    CHECK(cudaStreamWaitEvent(s1, done2, 0));
    CHECK(cudaStreamWaitEvent(s1, done3, 0));
    join<<<1, n, 0, s1>>>(out, a, b, c);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(s1, &graph));
    size_t nodes = 0, edges = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 5u);
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    EXPECT_EQ(edges, 6u);

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph));
    double x = 0, y = 0, z = 0;
    for (int round = 0; round < 3; round++) {
        CHECK(cudaGraphLaunch(exec, s1));
        x = (x + 1) * 2, y = y * 2 + 1, z = z * 3 + 1;
    }
    double h[n];
    CHECK(cudaMemcpyAsync(h, out, sizeof(h), cudaMemcpyDeviceToHost, s1));
    CHECK(cudaStreamSynchronize(s1));
    for (double v : h) EXPECT_EQ(v, x * 10000 + y * 100 + z);

    // A capture that is not joined cannot end well.
    CHECK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, s1));
    CHECK(cudaStreamWaitEvent(s2, fork, 0));
    step<<<1, n, 0, s2>>>(b, 2, 1);
    cudaGraph_t bad = nullptr;
    EXPECT_ERROR(cudaStreamEndCapture(s1, &bad), cudaErrorStreamCaptureUnjoined);
    CHECK(cudaStreamIsCapturing(s1, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);

    // A capturing stream cannot be waited for; that breaks the capture.
    CHECK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
    EXPECT_ERROR(cudaStreamSynchronize(s1), cudaErrorStreamCaptureUnsupported);
    EXPECT_ERROR(cudaStreamEndCapture(s1, &bad), cudaErrorStreamCaptureInvalidated);
    step<<<1, n, 0, s1>>>(a, 0, 8);
    CHECK(cudaMemcpyAsync(h, a, sizeof(h), cudaMemcpyDeviceToHost, s1));
    CHECK(cudaStreamSynchronize(s1));
    EXPECT_EQ(h[63], 8.0);
    EXPECT_ERROR(cudaStreamEndCapture(s1, &bad), cudaErrorIllegalState);

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (double* p : {a, b, c, out}) CHECK(cudaFree(p));
    return pass();
}
