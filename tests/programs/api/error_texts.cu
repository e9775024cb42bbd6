// Names and texts of CUDA's error codes, word for word.
#include "check.h"

#include <string>

struct Row {
    cudaError_t code;
    int number;
    const char *name, *text;
};

#define ROW(number, name, text) {name, number, #name, text}

static const Row rows[] = {
    ROW(0, cudaSuccess, "no error"),
    ROW(1, cudaErrorInvalidValue, "invalid argument"),
    ROW(2, cudaErrorMemoryAllocation, "out of memory"),
    ROW(3, cudaErrorInitializationError, "initialization error"),
    ROW(4, cudaErrorCudartUnloading, "driver shutting down"),
    ROW(9, cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ROW(12, cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ROW(13, cudaErrorInvalidSymbol, "invalid device symbol"),
    ROW(17, cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ROW(18, cudaErrorInvalidTexture, "invalid texture reference"),
    ROW(20, cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    ROW(21, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ROW(35, cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    ROW(46, cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    ROW(52, cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    ROW(98, cudaErrorInvalidDeviceFunction, "invalid device function"),
    ROW(100, cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ROW(101, cudaErrorInvalidDevice, "invalid device ordinal"),
    ROW(200, cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    ROW(201, cudaErrorDeviceUninitialized, "invalid device context"),
    ROW(209, cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    ROW(217, cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ROW(218, cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    ROW(222, cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain."),
    ROW(304, cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    ROW(400, cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ROW(401, cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    ROW(500, cudaErrorSymbolNotFound, "named symbol not found"),
    ROW(600, cudaErrorNotReady, "device not ready"),
    ROW(700, cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ROW(701, cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ROW(702, cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ROW(704, cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ROW(705, cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ROW(708, cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    ROW(709, cudaErrorContextIsDestroyed, "context is destroyed"),
    ROW(710, cudaErrorAssert, "device-side assert triggered"),
    ROW(712, cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ROW(713, cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ROW(714, cudaErrorHardwareStackError, "hardware stack error"),
    ROW(715, cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ROW(716, cudaErrorMisalignedAddress, "misaligned address"),
    ROW(717, cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    ROW(718, cudaErrorInvalidPc, "invalid program counter"),
    ROW(719, cudaErrorLaunchFailure, "unspecified launch failure"),
    ROW(720, cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ROW(800, cudaErrorNotPermitted, "operation not permitted"),
    ROW(801, cudaErrorNotSupported, "operation not supported"),
    ROW(900, cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ROW(901, cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ROW(904, cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ROW(906, cudaErrorStreamCaptureImplicit,
        "operation would make the legacy stream depend on a capturing blocking stream"),
    ROW(910, cudaErrorGraphExecUpdateFailure,
        "the graph update was not performed because it included changes which violated constraints specific to "
        "instantiated graph update"),
    ROW(999, cudaErrorUnknown, "unknown error"),
};

int main() {
    for (const Row& row : rows) {
        EXPECT_EQ(int(row.code), row.number);
        EXPECT_EQ(std::string(cudaGetErrorName(row.code)), row.name);
        EXPECT_EQ(std::string(cudaGetErrorString(row.code)), row.text);
    }
    EXPECT_EQ(std::string(cudaGetErrorName(cudaError_t(12345))), "unrecognized error code");
    EXPECT_EQ(std::string(cudaGetErrorString(cudaError_t(12345))), "unrecognized error code");
    return pass();
}
