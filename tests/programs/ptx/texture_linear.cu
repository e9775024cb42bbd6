// Textures over linear memory and 1D arrays: tex1Dfetch of many types, point and linear filtering, address
// modes, normalised coordinates and read modes.
#include "../check.h"

static cudaTextureObject_t make_linear(void* data, size_t bytes, cudaChannelFormatDesc format, cudaTextureReadMode read = cudaReadModeElementType) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = bytes;
    cudaTextureDesc description = {};
    description.readMode = read;
    cudaTextureObject_t object = 0;
    CUDA_OK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    return object;
}

template <class T>
__global__ void fetch(cudaTextureObject_t texture, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<T>(texture, (i * 7) % n);
}

template <class T>
void check_fetch(const char* what, const std::vector<T>& values) {
    int n = int(values.size());
    Buffer<T> data(values), out(n);
    cudaTextureObject_t texture = make_linear(data.data, n * sizeof(T), cudaCreateChannelDesc<T>());
    fetch<<<2, (n + 1) / 2>>>(texture, out.data, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) expect_equal(what, i, 0, memcmp(&values[(i * 7) % n], &got[i], sizeof(T)));
    CUDA_OK(cudaDestroyTextureObject(texture));
}

__global__ void fetch_normalised(cudaTextureObject_t texture, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(texture, i);
}

__global__ void sample(cudaTextureObject_t texture, const float* at, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1D<float>(texture, at[i]);
}

// What the hardware computes: filtering weights have 8 bits of fraction.
static float texel(const std::vector<float>& v, int i, cudaTextureAddressMode mode) {
    int n = int(v.size());
    if (mode == cudaAddressModeBorder) return i < 0 || i >= n ? 0.0f : v[i];
    if (mode == cudaAddressModeWrap) return v[((i % n) + n) % n];
    if (mode == cudaAddressModeMirror) { int m = ((i % (2 * n)) + 2 * n) % (2 * n); return v[m < n ? m : 2 * n - 1 - m]; }
    return v[i < 0 ? 0 : i >= n ? n - 1 : i];
}

void check_1d(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalised) {
    const int n = 16, samples = 90;
    std::vector<float> values(n), at(samples);
    for (int i = 0; i < n; i++) values[i] = float((i * 11) % 16) * 4;
    for (int i = 0; i < samples; i++) at[i] = (-6.0f + i * 0.3125f + 0.03125f) / (normalised ? n : 1);
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CUDA_OK(cudaMallocArray(&array, &format, n));
    CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, values.data(), n * sizeof(float), n * sizeof(float), 1, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.addressMode[0] = mode;
    description.filterMode = filter;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = normalised;
    cudaTextureObject_t texture;
    CUDA_OK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    Buffer<float> dat(at), out(samples);
    sample<<<1, 96>>>(texture, dat, out, samples);
    auto got = out.host();
    for (int i = 0; i < samples; i++) {
        float x = at[i] * (normalised ? n : 1);
        if (filter == cudaFilterModePoint) {
            expect_equal("point", i, texel(values, int(std::floor(x)), mode), got[i]);
        } else {
            int low = int(std::floor(x - 0.5f));
            float f = x - 0.5f - low, e = (1 - f) * texel(values, low, mode) + f * texel(values, low + 1, mode);
            expect_near("linear", i, e, got[i], 0, 64.0 / 256);
        }
    }
    CUDA_OK(cudaDestroyTextureObject(texture));
    CUDA_OK(cudaFreeArray(array));
}

int main() {
    std::vector<int> ints(101);
    std::vector<float> floats(64);
    std::vector<float4> vectors(50);
    std::vector<uchar4> colours(33);
    std::vector<short> shorts(40);
    std::vector<int2> pairs(20);
    for (size_t i = 0; i < ints.size(); i++) ints[i] = int(i * i) - 50;
    for (size_t i = 0; i < floats.size(); i++) floats[i] = i * 0.3f;
    for (size_t i = 0; i < vectors.size(); i++) vectors[i] = make_float4(i, i * 2, -float(i), 0.5f);
    for (size_t i = 0; i < colours.size(); i++) colours[i] = make_uchar4(i, i * 2, i * 3, 255 - i);
    for (size_t i = 0; i < shorts.size(); i++) shorts[i] = short(i * 1000 - 20000);
    for (size_t i = 0; i < pairs.size(); i++) pairs[i] = make_int2(int(i), -int(i) * 7);
    check_fetch("int", ints);
    check_fetch("float", floats);
    check_fetch("float4", vectors);
    check_fetch("uchar4", colours);
    check_fetch("short", shorts);
    check_fetch("int2", pairs);

    std::vector<unsigned char> bytes(64);
    for (int i = 0; i < 64; i++) bytes[i] = (unsigned char)(i * 4);
    Buffer<unsigned char> db(bytes);
    Buffer<float> out(64);
    cudaTextureObject_t texture = make_linear(db.data, 64, cudaCreateChannelDesc<unsigned char>(), cudaReadModeNormalizedFloat);
    fetch_normalised<<<1, 64>>>(texture, out, 64);
    auto got = out.host();
    for (int i = 0; i < 64; i++) expect_near("normalised bytes", i, bytes[i] / 255.0, got[i], 1e-6);
    CUDA_OK(cudaDestroyTextureObject(texture));

    for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        check_1d(cudaAddressModeClamp, filter, false);
        check_1d(cudaAddressModeBorder, filter, false);
        check_1d(cudaAddressModeClamp, filter, true);
        check_1d(cudaAddressModeWrap, filter, true);
        check_1d(cudaAddressModeMirror, filter, true);
    }
    return passed();
}
