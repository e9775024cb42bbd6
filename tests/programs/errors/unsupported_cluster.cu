// A launch with clusters of two blocks: refused, and the message says what it is.
// expect-exit: nonzero
// expect: [Cc]luster
// expect-stdout: ^refused$
#include "report.h"

__global__ void plain(int* data) { data[blockIdx.x] = 1; }

int main() {
    int* d;
    cudaMalloc(&d, 4 * sizeof(int));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(4);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (cudaLaunchKernelEx(&config, plain, d) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess) {
        printf("accepted\n");
        return 0;
    }
    printf("refused\n");
    return 1;
}
