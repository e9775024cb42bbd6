// Surfaces: reads and writes of 1D, 2D, 3D and layered arrays, boundary modes, and a texture of the same array.
#include "../check.h"

static cudaArray_t make_array(cudaChannelFormatDesc format, cudaExtent extent, unsigned flags, cudaResourceDesc& resource) {
    cudaArray_t array;
    CUDA_OK(cudaMalloc3DArray(&array, &format, extent, flags | cudaArraySurfaceLoadStore));
    resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return array;
}

// Coordinates in x are in bytes.
__global__ void fill(cudaSurfaceObject_t surface, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) surf2Dwrite(float(x * 100 + y), surface, x * 4, y);
}
__global__ void shift(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float left = surf2Dread<float>(from, (x - 1) * 4, y, cudaBoundaryModeClamp);
    float beyond = surf2Dread<float>(from, (x + 5) * 4, y + 2, cudaBoundaryModeZero);
    surf2Dwrite(left + beyond * 2, to, x * 4, y);
    surf2Dwrite(-1.0f, to, (x + w) * 4, y, cudaBoundaryModeZero);  // outside: ignored
}
__global__ void vectors(cudaSurfaceObject_t surface, uchar4* out, int w) {
    int x = threadIdx.x;
    uchar4 c = make_uchar4(x, x * 2, x * 3, 200);
    surf1Dwrite(c, surface, x * 4);
    __syncthreads();
    out[x] = surf1Dread<uchar4>(surface, (w - 1 - x) * 4);
}
__global__ void volume(cudaSurfaceObject_t surface, cudaSurfaceObject_t layered, int* out, int w, int h) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, i = (z * h + y) * w + x;
    surf3Dwrite(i * 3, surface, x * 4, y, z);
    surf2DLayeredwrite(make_short2(short(i), short(-i)), layered, x * 4, y, z);
    __syncthreads();
    int a = surf3Dread<int>(surface, (w - 1 - x) * 4, h - 1 - y, z);
    short2 b = surf2DLayeredread<short2>(layered, x * 4, h - 1 - y, z);
    out[i] = a * 10 + b.x - b.y;
}
__global__ void through_texture(cudaTextureObject_t texture, float* out, int w) {
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x % w + 0.5f, threadIdx.x / w + 0.5f);
}

int main() {
    const int w = 20, h = 11;
    cudaResourceDesc a, b, c, d, e;
    cudaArray_t first = make_array(cudaCreateChannelDesc<float>(), make_cudaExtent(w, h, 0), 0, a);
    cudaArray_t second = make_array(cudaCreateChannelDesc<float>(), make_cudaExtent(w, h, 0), 0, b);
    cudaSurfaceObject_t from, to;
    CUDA_OK(cudaCreateSurfaceObject(&from, &a));
    CUDA_OK(cudaCreateSurfaceObject(&to, &b));
    dim3 block(8, 4), grid((w + 7) / 8, (h + 3) / 4);
    fill<<<grid, block>>>(from, w, h);
    shift<<<grid, block>>>(from, to, w, h);
    synchronise();
    std::vector<float> got(w * h);
    CUDA_OK(cudaMemcpy2DFromArray(got.data(), w * 4, second, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
    auto value = [&](int x, int y) { return float(x * 100 + y); };
    for (int i = 0; i < w * h; i++) {
        int x = i % w, y = i / w;
        float beyond = x + 5 < w && y + 2 < h ? value(x + 5, y + 2) : 0;
        expect_equal("shift", i, value(x ? x - 1 : 0, y) + beyond * 2, got[i]);
    }
    // What a surface wrote, a texture reads in the next kernel.
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    CUDA_OK(cudaCreateTextureObject(&texture, &b, &description, nullptr));
    Buffer<float> out(w * h);
    through_texture<<<1, w * h>>>(texture, out, w);
    expect_all("through texture", got, out.host());
    CUDA_OK(cudaDestroyTextureObject(texture));

    cudaArray_t line = make_array(cudaCreateChannelDesc<uchar4>(), make_cudaExtent(50, 0, 0), 0, c);
    cudaSurfaceObject_t line_surface;
    CUDA_OK(cudaCreateSurfaceObject(&line_surface, &c));
    Buffer<uchar4> colours(50);
    vectors<<<1, 50>>>(line_surface, colours, 50);
    auto v = colours.host();
    for (int i = 0; i < 50; i++) {
        int x = 49 - i;
        expect_equal("uchar4", i, bits_as<uint32_t>(make_uchar4(x, x * 2, x * 3, 200)), bits_as<uint32_t>(v[i]));
    }

    cudaArray_t cube = make_array(cudaCreateChannelDesc<int>(), make_cudaExtent(8, 6, 4), 0, d);
    cudaArray_t layers = make_array(cudaCreateChannelDesc<short2>(), make_cudaExtent(8, 6, 4), cudaArrayLayered, e);
    cudaSurfaceObject_t cube_surface, layer_surface;
    CUDA_OK(cudaCreateSurfaceObject(&cube_surface, &d));
    CUDA_OK(cudaCreateSurfaceObject(&layer_surface, &e));
    Buffer<int> numbers(8 * 6 * 4);
    volume<<<1, dim3(8, 6, 4)>>>(cube_surface, layer_surface, numbers, 8, 6);
    auto n = numbers.host();
    for (int i = 0; i < 192; i++) {
        int x = i % 8, y = i / 8 % 6, z = i / 48, j = (z * 6 + 5 - y) * 8;
        expect_equal("volume", i, (j + 7 - x) * 3 * 10 + 2 * (j + x), n[i]);
    }
    for (cudaSurfaceObject_t s : {from, to, line_surface, cube_surface, layer_surface}) CUDA_OK(cudaDestroySurfaceObject(s));
    for (cudaArray_t x : {first, second, line, cube, layers}) CUDA_OK(cudaFreeArray(x));
    return passed();
}
