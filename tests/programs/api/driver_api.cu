// The driver API: a context, a module from PTX text, its functions and variables, a launch.
// nvcc: -lcuda
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define DRIVER(call)                                                                     \
    do {                                                                                 \
        CUresult code = (call);                                                          \
        if (code != CUDA_SUCCESS) {                                                      \
            const char* name = "?";                                                      \
            cuGetErrorName(code, &name);                                                 \
            printf("FAIL line %d: %s returned %d (%s)\n", __LINE__, #call, code, name);  \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

#define EXPECT(condition)                                                          \
    do {                                                                           \
        if (!(condition)) {                                                        \
            printf("FAIL line %d: %s does not hold\n", __LINE__, #condition);      \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

static const char* ptx = R"(
.version 7.0
.target sm_70
.address_size 64

.global .align 4 .u32 bias = 100;

.visible .entry add_index(.param .u64 data, .param .u32 count, .param .u32 factor)
{
    .reg .pred %p;
    .reg .b32 %r<10>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [data];
    ld.param.u32 %r0, [count];
    ld.param.u32 %r1, [factor];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r0;
    @%p bra done;
    cvta.to.global.u64 %rd1, %rd0;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r6, [%rd3];
    ld.global.u32 %r7, [bias];
    mad.lo.s32 %r8, %r5, %r1, %r7;
    add.s32 %r9, %r6, %r8;
    st.global.u32 [%rd3], %r9;
done:
    ret;
}
)";

int main() {
    DRIVER(cuInit(0));
    int count = 0, version = 0, warp = 0;
    DRIVER(cuDeviceGetCount(&count));
    EXPECT(count >= 1);
    DRIVER(cuDriverGetVersion(&version));
    EXPECT(version >= 12000);
    CUdevice device;
    DRIVER(cuDeviceGet(&device, 0));
    char name[100] = {};
    DRIVER(cuDeviceGetName(name, sizeof(name), device));
    EXPECT(strlen(name) > 0);
    size_t bytes = 0;
    DRIVER(cuDeviceTotalMem(&bytes, device));
    EXPECT(bytes > (1u << 30));
    DRIVER(cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    EXPECT(warp == 32);
    CUcontext context;
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));

    CUmodule module;
    DRIVER(cuModuleLoadData(&module, ptx));
    CUfunction function;
    DRIVER(cuModuleGetFunction(&function, module, "add_index"));
    EXPECT(cuModuleGetFunction(&function, module, "no_such_kernel") == CUDA_ERROR_NOT_FOUND);
    DRIVER(cuModuleGetFunction(&function, module, "add_index"));
    CUdeviceptr bias, data;
    DRIVER(cuModuleGetGlobal(&bias, &bytes, module, "bias"));
    EXPECT(bytes == 4);
    const int n = 200;
    int h[n];
    for (int i = 0; i < n; i++) h[i] = i;
    DRIVER(cuMemAlloc(&data, sizeof(h)));
    DRIVER(cuMemcpyHtoD(data, h, sizeof(h)));
    int size = n, factor = 3;
    void* args[] = {&data, &size, &factor};
    DRIVER(cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr));
    DRIVER(cuCtxSynchronize());
    DRIVER(cuMemcpyDtoH(h, data, sizeof(h)));
    for (int i = 0; i < n; i++) EXPECT(h[i] == i + 3 * i + 100);
    int zero = 0;
    DRIVER(cuMemcpyHtoD(bias, &zero, 4));
    DRIVER(cuMemsetD32(data, 7, n));
    DRIVER(cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr));
    DRIVER(cuMemcpyDtoH(h, data, sizeof(h)));
    for (int i = 0; i < n; i++) EXPECT(h[i] == 7 + 3 * i);
    DRIVER(cuMemFree(data));
    DRIVER(cuModuleUnload(module));
    EXPECT(cuModuleLoadData(&module, "not ptx at all") != CUDA_SUCCESS);
    DRIVER(cuDevicePrimaryCtxRelease(device));
    printf("PASS\n");
    return 0;
}
