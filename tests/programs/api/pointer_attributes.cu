// cudaPointerGetAttributes and peer queries.
#include "check.h"

__device__ int variable[4];

static cudaPointerAttributes ask(const void* pointer) {
    cudaPointerAttributes attributes;
    memset(&attributes, 0x77, sizeof(attributes));
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    return attributes;
}

int main() {
    int *device, *pinned, *managed, *plain = new int[10];
    CHECK(cudaMalloc(&device, 400));
    CHECK(cudaMallocHost(&pinned, 400));
    CHECK(cudaMallocManaged(&managed, 400));
    cudaPointerAttributes a = ask(device + 5);
    EXPECT_EQ(int(a.type), int(cudaMemoryTypeDevice));
    EXPECT_EQ(a.device, 0);
    EXPECT(a.devicePointer == device + 5);
    EXPECT(a.hostPointer == nullptr);
    a = ask(pinned + 3);
    EXPECT_EQ(int(a.type), int(cudaMemoryTypeHost));
    EXPECT(a.hostPointer == pinned + 3);
    EXPECT(a.devicePointer != nullptr);
    a = ask(managed);
    EXPECT_EQ(int(a.type), int(cudaMemoryTypeManaged));
    EXPECT(a.hostPointer == managed && a.devicePointer == managed);
    a = ask(plain);
    EXPECT_EQ(int(a.type), int(cudaMemoryTypeUnregistered));
    EXPECT(a.devicePointer == nullptr);
    void* symbol;
    CHECK(cudaGetSymbolAddress(&symbol, variable));
    EXPECT_EQ(int(ask(symbol).type), int(cudaMemoryTypeDevice));
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
    delete[] plain;

    // A device is no peer of itself, and the error codes say so.
    int can = -1;
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT_EQ(can, 0);
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaDeviceCanAccessPeer(&can, 0, 500), cudaErrorInvalidDevice);
    // Copying between peers works within one device.
    int *x, *y, h[4] = {1, 2, 3, 4}, back[4] = {};
    CHECK(cudaMalloc(&x, sizeof(h)));
    CHECK(cudaMalloc(&y, sizeof(h)));
    CHECK(cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyPeer(y, 0, x, 0, sizeof(h)));
    CHECK(cudaMemset(x, 0, sizeof(h)));
    CHECK(cudaMemcpyPeerAsync(x, 0, y, 0, sizeof(h)));
    CHECK(cudaMemcpy(back, x, sizeof(back), cudaMemcpyDeviceToHost));
    EXPECT(memcmp(h, back, sizeof(h)) == 0);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return pass();
}
