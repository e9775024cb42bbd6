/* What CUDA 13 no longer declares and older programs still use: calls, and uintptr_t and its kin, whose header
   cuda_runtime.h brought along. Included before every .cu file. */
#if defined(__CUDACC__) && defined(__cplusplus)
#include <cuda_runtime.h>
#include <stdint.h>
#if CUDART_VERSION >= 13000
static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
#endif
#endif
