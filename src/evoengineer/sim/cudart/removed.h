/* Calls that CUDA 13 no longer declares and that older programs still make; included before every .cu file. */
#if defined(__CUDACC__) && defined(__cplusplus)
#include <cuda_runtime.h>
#if CUDART_VERSION >= 13000
static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
#endif
#endif
