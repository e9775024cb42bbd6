// Texture objects: linear memory, pitched memory and arrays; point and linear filters, address modes,
// normalised coordinates, normalised reads; what an object was made of can be asked back.
#include "check.h"

#include <cmath>

__global__ void fetch_linear(cudaTextureObject_t t, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(t, n - 1 - i);
}
__global__ void fetch_2d(cudaTextureObject_t t, float* out, const float2* where, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, where[i].x, where[i].y);
}
__global__ void fetch_bytes(cudaTextureObject_t t, float4* out) {
    out[threadIdx.x] = tex1Dfetch<float4>(t, threadIdx.x);
}

int main() {
    const int n = 100;
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = float(i * i);
    float *d_in, *d_out;
    CHECK(cudaMalloc(&d_in, n * sizeof(float)));
    CHECK(cudaMalloc(&d_out, n * sizeof(float)));
    CHECK(cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = d_in;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = n * sizeof(float);
    cudaTextureDesc desc = {};
    desc.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    cudaResourceDesc asked = {};
    CHECK(cudaGetTextureObjectResourceDesc(&asked, texture));
    EXPECT(asked.resType == cudaResourceTypeLinear && asked.res.linear.devPtr == d_in);
    fetch_linear<<<1, 128>>>(texture, d_out, n);
    CHECK(cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT_EQ(out[i], in[n - 1 - i]);
    CHECK(cudaDestroyTextureObject(texture));

    // Bytes read as floats in [0, 1].
    unsigned char pixels[64];
    for (int i = 0; i < 64; i++) pixels[i] = (unsigned char)(i * 4);
    CHECK(cudaMemcpy(d_in, pixels, sizeof(pixels), cudaMemcpyHostToDevice));
    resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.linear.sizeInBytes = sizeof(pixels);
    desc.readMode = cudaReadModeNormalizedFloat;
    CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    fetch_bytes<<<1, 16>>>(texture, reinterpret_cast<float4*>(d_out));
    CHECK(cudaMemcpy(out.data(), d_out, 64 * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) EXPECT(std::fabs(out[i] - pixels[i] / 255.0f) < 1e-6f);
    CHECK(cudaDestroyTextureObject(texture));

    // An 8 x 4 image in an array and in pitched memory: value = 10 y + x.
    const int width = 8, height = 4;
    float image[height][width];
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) image[y][x] = 10.0f * y + x;
    cudaArray_t array;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &floats, width, height));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image, sizeof(image[0]), sizeof(image[0]), height, cudaMemcpyHostToDevice));
    float* pitched;
    size_t pitch;
    CHECK(cudaMallocPitch(&pitched, &pitch, sizeof(image[0]), height));
    CHECK(cudaMemcpy2D(pitched, pitch, image, sizeof(image[0]), sizeof(image[0]), height, cudaMemcpyHostToDevice));
    float2 where[8] = {{0.5f, 0.5f}, {7.5f, 3.5f}, {3.0f, 1.0f}, {2.25f, 2.5f}, {-5, 1.5f}, {20, 1.5f}, {4.5f, -1}, {4.5f, 9}};
    float2* d_where;
    CHECK(cudaMalloc(&d_where, sizeof(where)));
    CHECK(cudaMemcpy(d_where, where, sizeof(where), cudaMemcpyHostToDevice));
    auto sample = [&](bool use_array, cudaTextureFilterMode filter, cudaTextureAddressMode mode, float* result) {
        cudaResourceDesc r = {};
        if (use_array) {
            r.resType = cudaResourceTypeArray;
            r.res.array.array = array;
        } else {
            r.resType = cudaResourceTypePitch2D;
            r.res.pitch2D.devPtr = pitched;
            r.res.pitch2D.desc = floats;
            r.res.pitch2D.width = width;
            r.res.pitch2D.height = height;
            r.res.pitch2D.pitchInBytes = pitch;
        }
        cudaTextureDesc t = {};
        t.addressMode[0] = t.addressMode[1] = mode;
        t.filterMode = filter;
        t.readMode = cudaReadModeElementType;
        CHECK(cudaCreateTextureObject(&texture, &r, &t, nullptr));
        fetch_2d<<<1, 32>>>(texture, d_out, d_where, 8);
        CHECK(cudaMemcpy(result, d_out, 8 * sizeof(float), cudaMemcpyDeviceToHost));
        CHECK(cudaDestroyTextureObject(texture));
    };
    float point_clamp[8] = {0, 37, 13, 22, 10, 17, 4, 34};
    float linear_clamp[8] = {0, 37, 7.5f, 21.75f, 10, 17, 4, 34};
    float point_border[8] = {0, 37, 13, 22, 0, 0, 0, 0};
    float got[8];
    for (bool use_array : {true, false}) {
        sample(use_array, cudaFilterModePoint, cudaAddressModeClamp, got);
        for (int i = 0; i < 8; i++) EXPECT_EQ(got[i], point_clamp[i]);
        sample(use_array, cudaFilterModeLinear, cudaAddressModeClamp, got);
        for (int i = 0; i < 8; i++) EXPECT(std::fabs(got[i] - linear_clamp[i]) < 1.0f / 16);
        sample(use_array, cudaFilterModePoint, cudaAddressModeBorder, got);
        for (int i = 0; i < 8; i++) EXPECT_EQ(got[i], point_border[i]);
    }

    // Normalised coordinates wrap and mirror.
    float2 unit[8];
    for (int i = 0; i < 8; i++) unit[i] = make_float2((i * 3 - 8 + 0.5f) / width, 0.5f / height);
    CHECK(cudaMemcpy(d_where, unit, sizeof(unit), cudaMemcpyHostToDevice));
    for (cudaTextureAddressMode mode : {cudaAddressModeWrap, cudaAddressModeMirror}) {
        cudaResourceDesc r = {};
        r.resType = cudaResourceTypeArray;
        r.res.array.array = array;
        cudaTextureDesc t = {};
        t.addressMode[0] = t.addressMode[1] = mode;
        t.normalizedCoords = 1;
        t.readMode = cudaReadModeElementType;
        CHECK(cudaCreateTextureObject(&texture, &r, &t, nullptr));
        fetch_2d<<<1, 32>>>(texture, d_out, d_where, 8);
        CHECK(cudaMemcpy(got, d_out, 8 * sizeof(float), cudaMemcpyDeviceToHost));
        for (int i = 0; i < 8; i++) {
            int x = i * 3 - 8;  // -8, -5, -2, 1, 4, 7, 10, 13
            int wrapped = (x + 16) % 8, mirrored = x < 0 ? -1 - x : x < 8 ? x : 15 - x;
            EXPECT_EQ(got[i], float(mode == cudaAddressModeWrap ? wrapped : mirrored));
        }
        CHECK(cudaDestroyTextureObject(texture));
    }
    CHECK(cudaFreeArray(array));
    return pass();
}
