// 8-bit floats: e4m3 and e5m2 from and to float, half and pairs, saturating and not.
#include <cuda_fp8.h>

#include "../check.h"

// Value of an 8-bit float with `mantissa` bits of fraction; e4m3 has no infinity and one NaN.
static double decode(uint8_t bits, bool e4m3) {
    int mantissa_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
    int exponent = (bits & 0x7f) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
    double sign = bits & 0x80 ? -1 : 1;
    if (e4m3 && (bits & 0x7f) == 0x7f) return NAN;
    if (!e4m3 && exponent == 31) return mantissa ? NAN : sign * INFINITY;
    double fraction = double(mantissa) / (1 << mantissa_bits);
    return sign * (exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias));
}

// Nearest code by search, ties to the even code; beyond the largest finite value it saturates.
static uint8_t encode(double x, bool e4m3) {
    uint8_t sign = std::signbit(x) ? 0x80 : 0, largest = e4m3 ? 0x7e : 0x7b;
    x = std::fabs(x);
    for (int code = 0; code < largest; code++) {
        double low = decode(uint8_t(code), e4m3), high = decode(uint8_t(code + 1), e4m3), middle = (low + high) / 2;
        if (x < middle || (x == middle && code % 2 == 0)) return sign | uint8_t(code);
    }
    return sign | largest;
}

__global__ void decode_all(float* e4m3, float* e5m2, __half* halves) {
    int code = threadIdx.x;
    __nv_fp8_e4m3 a;
    __nv_fp8_e5m2 b;
    a.__x = (__nv_fp8_storage_t)code;
    b.__x = (__nv_fp8_storage_t)code;
    e4m3[code] = float(a);
    e5m2[code] = float(b);
    halves[code] = __half(__nv_cvt_fp8_to_halfraw(a.__x, __NV_E4M3));
}

__global__ void encode_all(const float* in, uint8_t* e4m3, uint8_t* e5m2, unsigned short* packed, uint8_t* from_half, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    e4m3[i] = __nv_fp8_e4m3(in[i]).__x;
    e5m2[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E5M2);
    packed[i] = __nv_fp8x2_e4m3(make_float2(in[i], in[i + 1])).__x;
    from_half[i] = __nv_fp8_e5m2(__float2half(in[i])).__x;
}

int main() {
    Buffer<float> f4(256), f5(256);
    Buffer<__half> h4(256);
    decode_all<<<1, 256>>>(f4, f5, h4);
    auto a = f4.host(), b = f5.host();
    auto h = h4.host();
    for (int code = 0; code < 256; code++) {
        expect_equal("e4m3 to float", code, float(decode(uint8_t(code), true)), a[code]);
        expect_equal("e5m2 to float", code, float(decode(uint8_t(code), false)), b[code]);
        expect_equal("e4m3 to half", code, float(decode(uint8_t(code), true)), __half2float(h[code]));
    }

    const int n = 700;
    Random random(19);
    std::vector<float> in = {0.0f, -0.0f, 448.0f, 449.0f, 464.0f, 465.0f, 1e9f, -1e9f, 0x1p-9f, 0x1p-10f, 0x1.8p-10f, 57344.0f, 61440.0f, 0x1p-17f, 0x1p-16f};
    while (in.size() < n + 1) {
        // Exactly representable values, ties and everything between.
        double x = std::ldexp(double(random.below(64)), int(random.below(20)) - 12);
        in.push_back(float(random.below(2) ? x : random.range(-2, 2) * x));
    }
    Buffer<float> din(in);
    Buffer<uint8_t> e4(n), e5(n), eh(n);
    Buffer<unsigned short> packed(n);
    encode_all<<<(n + 95) / 96, 96>>>(din, e4, e5, packed, eh, n);
    auto g4 = e4.host(), g5 = e5.host(), gh = eh.host();
    auto gp = packed.host();
    for (int i = 0; i < n; i++) {
        expect_equal("float to e4m3", i, encode(in[i], true), g4[i]);
        expect_equal("float to e5m2", i, encode(in[i], false), g5[i]);
        expect_equal("pair to e4m3x2", i, uint16_t(encode(in[i], true) | encode(in[i + 1], true) << 8), uint16_t(gp[i]));
        double half = __half2float(__float2half(in[i]));
        expect_equal("half to e5m2", i, encode(half, false), gh[i]);
    }
    return passed();
}
