// Less common texture reads: cubemaps, explicit level and gradient, gather, 1D layered.
#include "../check.h"

static cudaTextureObject_t make(cudaArray_t array, cudaTextureFilterMode filter, bool normalised) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    for (auto& m : description.addressMode) m = cudaAddressModeClamp;
    description.filterMode = filter;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = normalised;
    cudaTextureObject_t object = 0;
    CUDA_OK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    return object;
}

static void upload(cudaArray_t array, void* data, int w, int h, int d) {
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data, w * 4, w, h ? h : 1);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(w, h ? h : 1, d ? d : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA_OK(cudaMemcpy3D(&copy));
}

// Direction of texel (u, v) of a face, as the programming guide's table of faces has it.
__host__ __device__ inline float3 direction(int face, float u, float v) {
    switch (face) {
        case 0: return {1, -v, -u};
        case 1: return {-1, -v, u};
        case 2: return {u, 1, v};
        case 3: return {u, -1, -v};
        case 4: return {u, -v, 1};
        default: return {-u, -v, -1};
    }
}

__global__ void cube(cudaTextureObject_t texture, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 6 * n * n) return;
    float u = (i % n + 0.5f) * 2 / n - 1, v = (i / n % n + 0.5f) * 2 / n - 1;
    float3 d = direction(i / (n * n), u, v);
    out[i] = texCubemap<float>(texture, d.x * 3, d.y * 3, d.z * 3);
}

__global__ void levels(cudaTextureObject_t texture, float* out, int w) {
    float x = (threadIdx.x % w + 0.5f) / w, y = (threadIdx.x / w + 0.5f) / 4;
    out[threadIdx.x] = tex2DLod<float>(texture, x, y, 0.0f);
    out[4 * w + threadIdx.x] = tex2DGrad<float>(texture, x, y, make_float2(0, 0), make_float2(0, 0));
}

__global__ void gather(cudaTextureObject_t texture, float4* out, int w) {
    out[threadIdx.x] = tex2Dgather<float4>(texture, threadIdx.x % (w - 1) + 1.0f, threadIdx.x / (w - 1) + 1.0f, 0);
}

__global__ void layered(cudaTextureObject_t texture, int* out, int w) {
    out[blockIdx.x * w + threadIdx.x] = tex1DLayered<int>(texture, threadIdx.x + 0.5f, blockIdx.x);
}

int main() {
    const int n = 4, w = 9;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<float> faces(6 * n * n), picture(w * 4);
    for (size_t i = 0; i < faces.size(); i++) faces[i] = float(i * 5 % 97);
    for (size_t i = 0; i < picture.size(); i++) picture[i] = float(i * 7 % 31);
    cudaArray_t cubemap, flat, layers, gatherable;
    CUDA_OK(cudaMalloc3DArray(&cubemap, &format, make_cudaExtent(n, n, 6), cudaArrayCubemap));
    upload(cubemap, faces.data(), n, n, 6);
    cudaTextureObject_t texture = make(cubemap, cudaFilterModePoint, true);
    Buffer<float> out(6 * n * n);
    cube<<<2, 50>>>(texture, out, n);
    expect_all("cubemap", faces, out.host());
    CUDA_OK(cudaDestroyTextureObject(texture));

    CUDA_OK(cudaMallocArray(&flat, &format, w, 4));
    CUDA_OK(cudaMemcpy2DToArray(flat, 0, 0, picture.data(), w * 4, w * 4, 4, cudaMemcpyHostToDevice));
    texture = make(flat, cudaFilterModePoint, true);
    Buffer<float> both(8 * w);
    levels<<<1, 4 * w>>>(texture, both, w);
    auto b = both.host();
    for (int i = 0; i < 8 * w; i++) expect_equal(i < 4 * w ? "level" : "gradient", i, picture[i % (4 * w)], b[i]);
    CUDA_OK(cudaDestroyTextureObject(texture));

    // Gather returns one component of the four texels around a point: lower left first, counter-clockwise.
    CUDA_OK(cudaMallocArray(&gatherable, &format, w, 4, cudaArrayTextureGather));
    CUDA_OK(cudaMemcpy2DToArray(gatherable, 0, 0, picture.data(), w * 4, w * 4, 4, cudaMemcpyHostToDevice));
    texture = make(gatherable, cudaFilterModePoint, false);
    Buffer<float4> quads(3 * (w - 1));
    gather<<<1, 3 * (w - 1)>>>(texture, quads, w);
    auto q = quads.host();
    for (int i = 0; i < 3 * (w - 1); i++) {
        int x = i % (w - 1), y = i / (w - 1);
        const float e[4] = {picture[(y + 1) * w + x], picture[(y + 1) * w + x + 1], picture[y * w + x + 1], picture[y * w + x]};
        const float g[4] = {q[i].x, q[i].y, q[i].z, q[i].w};
        for (int k = 0; k < 4; k++) expect_equal("gather", 4 * i + k, e[k], g[k]);
    }
    CUDA_OK(cudaDestroyTextureObject(texture));

    std::vector<int> numbers(w * 5);
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = int(i * i);
    cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();
    CUDA_OK(cudaMalloc3DArray(&layers, &ints, make_cudaExtent(w, 0, 5), cudaArrayLayered));
    upload(layers, numbers.data(), w, 1, 5);
    texture = make(layers, cudaFilterModePoint, false);
    Buffer<int> read(w * 5);
    layered<<<5, w>>>(texture, read, w);
    expect_all("1D layered", numbers, read.host());
    CUDA_OK(cudaDestroyTextureObject(texture));
    for (cudaArray_t a : {cubemap, flat, gatherable, layers}) CUDA_OK(cudaFreeArray(a));
    return passed();
}
