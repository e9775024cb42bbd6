// Surface objects over a 2D array: read, write, and what a texture then sees.
#include "check.h"

__global__ void invert(cudaSurfaceObject_t surface, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 pixel;
    surf2Dread(&pixel, surface, x * sizeof(uchar4), y);
    pixel = make_uchar4(255 - pixel.x, 255 - pixel.y, 255 - pixel.z, pixel.w);
    surf2Dwrite(pixel, surface, x * sizeof(uchar4), y);
}

__global__ void read_back(cudaTextureObject_t texture, uchar4* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = tex2D<uchar4>(texture, x, y);
}

int main() {
    const int width = 21, height = 10;
    std::vector<uchar4> in(width * height), out(width * height);
    for (int i = 0; i < width * height; i++)
        in[i] = make_uchar4((unsigned char)i, (unsigned char)(2 * i), (unsigned char)(3 * i), (unsigned char)(i / 5));
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &desc, width, height, cudaArraySurfaceLoadStore));
    const size_t row = width * sizeof(uchar4);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, in.data(), row, row, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    dim3 block(16, 4), grid((width + 15) / 16, (height + 3) / 4);
    invert<<<grid, block>>>(surface, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2DFromArray(out.data(), row, array, 0, 0, row, height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++) {
        EXPECT_EQ(int(out[i].x), 255 - in[i].x);
        EXPECT_EQ(int(out[i].z), 255 - in[i].z);
        EXPECT_EQ(int(out[i].w), int(in[i].w));
    }
    cudaTextureDesc texture_desc = {};
    texture_desc.addressMode[0] = texture_desc.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &texture_desc, nullptr));
    uchar4* d;
    CHECK(cudaMalloc(&d, row * height));
    read_back<<<grid, block>>>(texture, d, width, height);
    std::vector<uchar4> seen(width * height);
    CHECK(cudaMemcpy(seen.data(), d, row * height, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(seen.data(), out.data(), row * height) == 0);
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(d));
    return pass();
}
