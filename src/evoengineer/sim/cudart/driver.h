// What the driver API functions share: they are thin forms of the runtime's.
#pragma once
#include "modules.h"

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct Context*;
using CUmodule = Module*;
using CUfunction = Kernel*;
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;

constexpr int CUDA_ERROR_INVALID_VALUE = 1;
constexpr int CUDA_ERROR_INVALID_CONTEXT = 201;
constexpr int CUDA_ERROR_INVALID_HANDLE = 400;
constexpr int CUDA_ERROR_NOT_FOUND = 500;

// Most numbers are the same in both APIs.
inline CUresult result_of(int error) {
    switch (error) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection: return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    default: return error;
    }
}

#define ENTER_DRIVER() \
    Entry entry;       \
    if (entry.status) return entry.status

// A second exported name for a function: cuda.h maps plain names to versioned ones.
#define ALSO(name, other) API decltype(name) other __attribute__((alias(#name)));
