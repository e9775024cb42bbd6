// Vector loads and stores of 2 and 4 elements: global, shared, local, param and constant space.
#include "../check.h"

struct alignas(16) Mixed { float2 f; short2 s; uchar4 b; };
__constant__ float4 weights[4];

__global__ void global_vectors(const float4* f4, const double2* d2, const uchar4* c4, const short2* s2, const longlong2* l2, const int2* i2,
                               float4* of, double2* od, uchar4* oc, short2* os, longlong2* ol, int2* oi, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 f = f4[i];
    of[i] = make_float4(f.w, f.z, f.y, f.x);
    od[i] = make_double2(d2[i].y, -d2[i].x);
    uchar4 c = c4[i];
    oc[i] = make_uchar4(c.y, c.x, c.w + 1, c.z);
    os[i] = make_short2(s2[i].y, short(-s2[i].x));
    ol[i] = make_longlong2(l2[i].x + 1, l2[i].y * 3);
    oi[i] = make_int2(i2[i].y, i2[i].x);
}

// Stages vectors through shared memory in another order, keeps a local array of vectors, reads constants.
__global__ void staged(const float4* in, float4* out, int rotate) {
    __shared__ float4 tile[48];
    __shared__ double2 pairs[48];
    float4 history[3];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 48 + t];
    pairs[47 - t] = make_double2(t, tile[t].x);
    __syncthreads();
    for (int k = 0; k < 3; k++) history[k] = tile[(t + k * rotate) % 48];
    float4 a = history[rotate % 3], w = weights[t & 3];
    double2 p = pairs[t];
    out[blockIdx.x * 48 + t] = make_float4(a.x + w.x, a.y * w.y, a.z - w.z + float(p.x), a.w + float(p.y));
}

__global__ void structures(const Mixed* in, Mixed* out, Mixed extra, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Mixed m = in[i];
    m.f.x += extra.f.y;
    m.s.y = short(m.s.y + extra.s.x);
    m.b.z = m.b.z ^ extra.b.w;
    out[i] = m;
}

// 16-byte copies by reinterpretation, unaligned tail by bytes.
__global__ void copy_bytes(const uint8_t* in, uint8_t* out, int bytes) {
    int vectors = bytes / 16;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) reinterpret_cast<uint4*>(out)[i] = reinterpret_cast<const uint4*>(in)[i];
    for (int i = vectors * 16 + threadIdx.x; i < bytes; i += blockDim.x) out[i] = in[i];
}

int main() {
    const int n = 144;
    Random random(22);
    std::vector<float4> f(n);
    std::vector<double2> d(n);
    std::vector<uchar4> c(n);
    std::vector<short2> s(n);
    std::vector<longlong2> l(n);
    std::vector<int2> q(n);
    for (int i = 0; i < n; i++) {
        f[i] = make_float4(i, i + 0.25f, i * 2.0f, -i);
        d[i] = make_double2(random.unit(), random.unit());
        c[i] = make_uchar4(i, i * 3, i * 5, i * 7);
        s[i] = make_short2(short(random.u32()), short(random.u32()));
        l[i] = make_longlong2((long long)random.below(1000), (long long)random.u32());
        q[i] = make_int2(int(random.u32()), int(random.u32()));
    }
    Buffer<float4> df(f), of(n), staged_out(n);
    Buffer<double2> dd(d), od(n);
    Buffer<uchar4> dc(c), oc(n);
    Buffer<short2> ds(s), os(n);
    Buffer<longlong2> dl(l), ol(n);
    Buffer<int2> dq(q), oi(n);
    global_vectors<<<3, 50>>>(df, dd, dc, ds, dl, dq, of, od, oc, os, ol, oi, n);
    auto gf = of.host();
    auto gd = od.host();
    auto gc = oc.host();
    auto gs = os.host();
    auto gl = ol.host();
    auto gi = oi.host();
    for (int i = 0; i < n; i++) {
        expect_equal("float4", i, f[i].w + 2 * f[i].x, gf[i].x + 2 * gf[i].w);
        expect_equal("float4", i, f[i].z + 2 * f[i].y, gf[i].y + 2 * gf[i].z);
        expect_equal("double2", i, d[i].y, gd[i].x);
        expect_equal("double2", i, -d[i].x, gd[i].y);
        expect_equal("uchar4", i, bits_as<uint32_t>(make_uchar4(c[i].y, c[i].x, c[i].w + 1, c[i].z)), bits_as<uint32_t>(gc[i]));
        expect_equal("short2", i, bits_as<uint32_t>(make_short2(s[i].y, short(-s[i].x))), bits_as<uint32_t>(gs[i]));
        expect_equal("longlong2", i, l[i].x + 1, gl[i].x);
        expect_equal("longlong2", i, l[i].y * 3, gl[i].y);
        expect_equal("int2", i, bits_as<uint64_t>(make_int2(q[i].y, q[i].x)), bits_as<uint64_t>(gi[i]));
    }

    float4 w[4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {0.5f, 0.25f, 2, 1}, {-1, -2, -3, -4}};
    CUDA_OK(cudaMemcpyToSymbol(weights, w, sizeof w));
    staged<<<3, 48>>>(df, staged_out, 5);
    auto g = staged_out.host();
    for (int i = 0; i < n; i++) {
        int t = i % 48, base = i - t;
        float4 a = f[base + (t + (5 % 3) * 5) % 48], b = w[t & 3];
        float px = float(47 - t), py = f[base + 47 - t].x;
        expect_equal("staged x", i, a.x + b.x, g[i].x);
        expect_equal("staged y", i, a.y * b.y, g[i].y);
        expect_equal("staged z", i, a.z - b.z + px, g[i].z);
        expect_equal("staged w", i, a.w + py, g[i].w);
    }

    std::vector<Mixed> m(n);
    for (int i = 0; i < n; i++) m[i] = {{float(i), 1}, {short(i), short(2 * i)}, {1, 2, 3, 4}};
    Mixed extra = {{9, 0.5f}, {7, 8}, {1, 1, 1, 0xf0}};
    Buffer<Mixed> dm(m), om(n);
    structures<<<1, 160>>>(dm, om, extra, n);
    auto gm = om.host();
    for (int i = 0; i < n; i++) {
        m[i].f.x += 0.5f, m[i].s.y += 7, m[i].b.z ^= 0xf0;
        for (int k = 0; k < 4; k++) expect_equal("mixed", 4 * i + k, reinterpret_cast<uint32_t*>(&m[i])[k], reinterpret_cast<uint32_t*>(&gm[i])[k]);
    }

    std::vector<uint8_t> bytes(16 * 37 + 11);
    for (auto& b : bytes) b = uint8_t(random.u32());
    Buffer<uint8_t> db(bytes), ob(bytes.size());
    copy_bytes<<<1, 20>>>(db, ob, int(bytes.size()));
    expect_all("bytes", bytes, ob.host());
    return passed();
}
