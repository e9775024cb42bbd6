// 2D, 3D and layered textures: point and linear filtering, address modes, pitched memory, integer texels.
#include "../check.h"

static int wrapped(int i, int n, cudaTextureAddressMode mode) {
    if (mode == cudaAddressModeWrap) return ((i % n) + n) % n;
    return i < 0 ? (mode == cudaAddressModeBorder ? -1 : 0) : i >= n ? (mode == cudaAddressModeBorder ? -1 : n - 1) : i;
}

static cudaTextureObject_t make(const cudaResourceDesc& resource, cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalised) {
    cudaTextureDesc description = {};
    for (auto& m : description.addressMode) m = mode;
    description.filterMode = filter;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = normalised;
    cudaTextureObject_t object = 0;
    CUDA_OK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    return object;
}

__global__ void sample2d(cudaTextureObject_t texture, float* out, float scale_x, float scale_y) {
    int x = threadIdx.x, y = threadIdx.y;
    out[y * blockDim.x + x] = tex2D<float>(texture, (x * 0.75f - 3.0f + 0.125f) * scale_x, (y * 0.5f - 2.0f + 0.125f) * scale_y);
}

void check_2d(const cudaResourceDesc& resource, const std::vector<float>& v, int w, int h, cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalised) {
    cudaTextureObject_t texture = make(resource, mode, filter, normalised);
    Buffer<float> out(24 * 24);
    sample2d<<<1, dim3(24, 24)>>>(texture, out, normalised ? 1.0f / w : 1, normalised ? 1.0f / h : 1);
    auto got = out.host();
    auto texel = [&](int x, int y) { x = wrapped(x, w, mode), y = wrapped(y, h, mode); return x < 0 || y < 0 ? 0.0f : v[y * w + x]; };
    for (int i = 0; i < 24 * 24; i++) {
        float x = i % 24 * 0.75f - 3.0f + 0.125f, y = i / 24 * 0.5f - 2.0f + 0.125f;
        if (filter == cudaFilterModePoint) {
            expect_equal("point 2D", i, texel(int(std::floor(x)), int(std::floor(y))), got[i]);
        } else {
            int x0 = int(std::floor(x - 0.5f)), y0 = int(std::floor(y - 0.5f));
            float fx = x - 0.5f - x0, fy = y - 0.5f - y0;
            float e = (1 - fy) * ((1 - fx) * texel(x0, y0) + fx * texel(x0 + 1, y0)) + fy * ((1 - fx) * texel(x0, y0 + 1) + fx * texel(x0 + 1, y0 + 1));
            expect_near("linear 2D", i, e, got[i], 0, 100.0 / 128);
        }
    }
    CUDA_OK(cudaDestroyTextureObject(texture));
}

__global__ void sample3d(cudaTextureObject_t texture, float* out) {
    int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[i] = tex3D<float>(texture, threadIdx.x + 0.5f, threadIdx.y + 0.5f, threadIdx.z + 0.5f);
}
__global__ void sample_layered(cudaTextureObject_t texture, int* out, int w, int h) {
    int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
    if (x < w && y < h) out[(layer * h + y) * w + x] = tex2DLayered<int>(texture, x + 0.5f, y + 0.5f, layer);
}
__global__ void sample_vector(cudaTextureObject_t texture, uchar4* out, int w) {
    out[threadIdx.x] = tex2D<uchar4>(texture, threadIdx.x % w + 0.5f, threadIdx.x / w + 0.5f);
}

int main() {
    const int w = 12, h = 9, d = 5;
    std::vector<float> v(w * h);
    for (int i = 0; i < w * h; i++) v[i] = float(i * 37 % 100);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CUDA_OK(cudaMallocArray(&array, &format, w, h));
    CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, v.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    cudaResourceDesc in_array = {}, in_pitch = {};
    in_array.resType = cudaResourceTypeArray;
    in_array.res.array.array = array;
    void* pitched;
    size_t pitch;
    CUDA_OK(cudaMallocPitch(&pitched, &pitch, w * 4, h));
    CUDA_OK(cudaMemcpy2D(pitched, pitch, v.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    in_pitch.resType = cudaResourceTypePitch2D;
    in_pitch.res.pitch2D.devPtr = pitched;
    in_pitch.res.pitch2D.desc = format;
    in_pitch.res.pitch2D.width = w;
    in_pitch.res.pitch2D.height = h;
    in_pitch.res.pitch2D.pitchInBytes = pitch;
    for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        check_2d(in_array, v, w, h, cudaAddressModeClamp, filter, false);
        check_2d(in_array, v, w, h, cudaAddressModeBorder, filter, false);
        check_2d(in_array, v, w, h, cudaAddressModeWrap, filter, true);
        check_2d(in_pitch, v, w, h, cudaAddressModeClamp, filter, false);
    }

    std::vector<float> volume(w * h * d);
    for (size_t i = 0; i < volume.size(); i++) volume[i] = float(i * 13 % 251);
    cudaArray_t array3;
    CUDA_OK(cudaMalloc3DArray(&array3, &format, make_cudaExtent(w, h, d)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(volume.data(), w * 4, w, h);
    copy.dstArray = array3;
    copy.extent = make_cudaExtent(w, h, d);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA_OK(cudaMemcpy3D(&copy));
    cudaResourceDesc in_volume = {};
    in_volume.resType = cudaResourceTypeArray;
    in_volume.res.array.array = array3;
    cudaTextureObject_t texture = make(in_volume, cudaAddressModeClamp, cudaFilterModeLinear, false);
    Buffer<float> out(w * h * d);
    sample3d<<<1, dim3(w, h, d)>>>(texture, out);
    expect_all("3D at texel centres", volume, out.host());
    CUDA_OK(cudaDestroyTextureObject(texture));

    std::vector<int> layers(w * h * d);
    for (size_t i = 0; i < layers.size(); i++) layers[i] = int(i) * 3 - 100;
    cudaChannelFormatDesc int_format = cudaCreateChannelDesc<int>();
    cudaArray_t layered;
    CUDA_OK(cudaMalloc3DArray(&layered, &int_format, make_cudaExtent(w, h, d), cudaArrayLayered));
    copy.srcPtr = make_cudaPitchedPtr(layers.data(), w * 4, w, h);
    copy.dstArray = layered;
    CUDA_OK(cudaMemcpy3D(&copy));
    in_volume.res.array.array = layered;
    texture = make(in_volume, cudaAddressModeClamp, cudaFilterModePoint, false);
    Buffer<int> iout(w * h * d);
    sample_layered<<<d, dim3(16, 16)>>>(texture, iout, w, h);
    expect_all("layered", layers, iout.host());
    CUDA_OK(cudaDestroyTextureObject(texture));

    std::vector<uchar4> colours(w * 4);
    for (int i = 0; i < w * 4; i++) colours[i] = make_uchar4(i, i + 50, i * 5, 7);
    cudaChannelFormatDesc colour_format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t picture;
    CUDA_OK(cudaMallocArray(&picture, &colour_format, w, 4));
    CUDA_OK(cudaMemcpy2DToArray(picture, 0, 0, colours.data(), w * 4, w * 4, 4, cudaMemcpyHostToDevice));
    in_array.res.array.array = picture;
    texture = make(in_array, cudaAddressModeClamp, cudaFilterModePoint, false);
    Buffer<uchar4> cout4(w * 4);
    sample_vector<<<1, w * 4>>>(texture, cout4, w);
    auto c = cout4.host();
    for (int i = 0; i < w * 4; i++) expect_equal("uchar4", i, bits_as<uint32_t>(colours[i]), bits_as<uint32_t>(c[i]));
    CUDA_OK(cudaDestroyTextureObject(texture));
    for (cudaArray_t a : {array, array3, layered, picture}) CUDA_OK(cudaFreeArray(a));
    CUDA_OK(cudaFree(pitched));
    return passed();
}
