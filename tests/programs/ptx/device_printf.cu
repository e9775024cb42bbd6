// Device printf: every kind of argument, order within a thread, order of blocks of one thread each.
// The output of this program is compared with device_printf.expected.
#include "../check.h"

__global__ void formats(double real, long long big, const char* nothing) {
    printf("plain text, 100%%\n");
    printf("int %d, negative %d, unsigned %u, hex %x %X, octal %o\n", 42, -42, 4000000000u, 48879u, 48879u, 8u);
    printf("padded [%5d] [%-5d] [%05d] [%+d] [% d]\n", 42, 42, 42, 42, 42);
    printf("char %c%c%c, string %s, empty [%s], padded [%8s] [%-8s]\n", 'a', 'b', '!', "hello", "", "right", "left");
    printf("float %f, short %.2f, wide [%10.3f], exponent %e, general %g %g\n", real, real, real, real, real, 1e20);
    printf("long long %lld, hex %llx, size %lu, unsigned %llu\n", big, (unsigned long long)big, sizeof(int), 18446744073709551615ull);
    printf("short %hd, pointer %s, hex float %a\n", (short)-5, nothing ? "given" : "null", 1.5);
    printf("mixed %d %f %c %lld %s %u\n", 1, 2.5f, 'c', -4ll, "five", 6u);
    int written = printf("three arguments: %d %d %d\n", 1, 2, 3);
    printf("returned %d\n", written);
}

__global__ void in_order() {
    for (int i = 0; i < 3; i++) {
        printf("block %d, line %d\n", int(blockIdx.x), i);
        if (i == int(blockIdx.x)) printf("block %d, extra\n", int(blockIdx.x));
    }
}

// Only some lanes print; the host waits between the launches.
__global__ void one_lane(int which) {
    int sum = int(threadIdx.x);
    for (int s = 16; s; s >>= 1) sum += __shfl_xor_sync(~0u, sum, s);
    if (int(threadIdx.x) == which) printf("lane %d of %d, sum %d\n", which, int(blockDim.x), sum);
}

int main() {
    formats<<<1, 1>>>(3.14159265, -1234567890123ll, nullptr);
    CUDA_OK(cudaDeviceSynchronize());
    for (int b = 0; b < 2; b++) in_order<<<1, 1>>>();
    CUDA_OK(cudaDeviceSynchronize());
    for (int lane : {0, 7, 31}) {
        one_lane<<<1, 32>>>(lane);
        CUDA_OK(cudaDeviceSynchronize());
    }
    return passed();
}
