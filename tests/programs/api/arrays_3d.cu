// cudaMalloc3DArray with cudaMemcpy3D to and from the array, read back by a kernel through a texture.
#include "check.h"

__global__ void gather(cudaTextureObject_t volume, float* out, int width, int height, int depth) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height * depth) return;
    int x = i % width, y = i / width % height, z = i / (width * height);
    out[i] = tex3D<float>(volume, x + 0.5f, y + 0.5f, z + 0.5f);
}

int main() {
    const int width = 9, height = 6, depth = 4, count = width * height * depth;
    std::vector<float> in(count), out(count, -1);
    for (int i = 0; i < count; i++) in[i] = 1.5f * i;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaExtent extent = make_cudaExtent(width, height, depth);
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &desc, extent));
    cudaExtent found;
    unsigned flags;
    CHECK(cudaArrayGetInfo(&desc, &found, &flags, array));
    EXPECT(found.width == 9 && found.height == 6 && found.depth == 4);
    EXPECT_EQ(flags, 0u);

    // With an array on either side, the extent counts elements, not bytes.
    cudaMemcpy3DParms up = {};
    up.srcPtr = make_cudaPitchedPtr(in.data(), width * sizeof(float), width, height);
    up.dstArray = array;
    up.extent = extent;
    up.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&up));
    cudaMemcpy3DParms down = {};
    down.srcArray = array;
    down.dstPtr = make_cudaPitchedPtr(out.data(), width * sizeof(float), width, height);
    down.extent = extent;
    down.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&down));
    EXPECT(in == out);

    // Change one slice only.
    std::vector<float> slice(width * height, -4.0f);
    cudaMemcpy3DParms one = {};
    one.srcPtr = make_cudaPitchedPtr(slice.data(), width * sizeof(float), width, height);
    one.dstArray = array;
    one.dstPos = make_cudaPos(0, 0, 2);
    one.extent = make_cudaExtent(width, height, 1);
    one.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&one));

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = {};
    texture.addressMode[0] = texture.addressMode[1] = texture.addressMode[2] = cudaAddressModeClamp;
    texture.filterMode = cudaFilterModePoint;
    texture.readMode = cudaReadModeElementType;
    cudaTextureObject_t object;
    CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    float* d;
    CHECK(cudaMalloc(&d, count * sizeof(float)));
    gather<<<(count + 63) / 64, 64>>>(object, d, width, height, depth);
    CHECK(cudaMemcpy(out.data(), d, count * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) EXPECT_EQ(out[i], i / (width * height) == 2 ? -4.0f : in[i]);
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(d));
    return pass();
}
