// Calls that only advise or name things: they succeed and change no result.
// nvcc: -Xcompiler -Wno-deprecated-declarations -diag-suppress 1444
#include <cuda_profiler_api.h>

#include "check.h"

__global__ void named_kernel(int* data) { data[threadIdx.x] += 1; }

int main() {
    CHECK(cudaProfilerStart());
    CHECK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte));
    cudaSharedMemConfig config;
    CHECK(cudaDeviceGetSharedMemConfig(&config));
    EXPECT(config == cudaSharedMemBankSizeFourByte);
    CHECK(cudaFuncSetSharedMemConfig((const void*)named_kernel, cudaSharedMemBankSizeDefault));
    CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
    const char* name = nullptr;
    CHECK(cudaFuncGetName(&name, (const void*)named_kernel));
    EXPECT(strstr(name, "named_kernel") != nullptr);
    unsigned flags = 99;
    CHECK(cudaGetDeviceFlags(&flags));

    int *d, h[32];
    CHECK(cudaMalloc(&d, sizeof(h)));
    CHECK(cudaMemset(d, 0, sizeof(h)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaStreamAttrValue window = {};
    window.accessPolicyWindow.base_ptr = d;
    window.accessPolicyWindow.num_bytes = sizeof(h);
    window.accessPolicyWindow.hitRatio = 1.0f;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window));
    named_kernel<<<1, 32, 0, stream>>>(d);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaCtxResetPersistingL2Cache());
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost));
    for (int v : h) EXPECT_EQ(v, 1);
    CHECK(cudaProfilerStop());
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(d));
    return pass();
}
