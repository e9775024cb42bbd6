// Unions, bit fields, packed and aligned structures, enums, type punning, references and const casts.
#include "../check.h"

union Word { float f; int i; unsigned u; unsigned char b[4]; short s[2]; struct { unsigned mantissa : 23, exponent : 8, sign : 1; } parts; };
struct Packet { unsigned kind : 3; int delta : 5; unsigned : 4; unsigned length : 12; bool last : 1; unsigned long long stamp : 40; };
#pragma pack(push, 1)
struct Packed { char c; int i; short s; double d; };
#pragma pack(pop)
struct alignas(32) Aligned { int v[5]; };
enum class Colour : unsigned char { red = 1, green = 4, blue = 250 };
static_assert(sizeof(Packed) == 15 && sizeof(Aligned) == 32, "layouts");

__host__ __device__ inline unsigned word_hash(float f) {
    Word w;
    w.f = f;
    unsigned h = w.parts.exponent * 3 + w.parts.sign * 1000 + (w.parts.mantissa & 0xffff);
    w.parts.exponent += 1;
    w.b[0] ^= 0x5a;
    w.s[1] = short(w.s[1] + 1);
    return h ^ w.u;
}

__host__ __device__ inline Packet make_packet(int i) {
    Packet p = {};
    p.kind = unsigned(i);
    p.delta = (i % 31) - 15;
    p.length = unsigned(i * 37);
    p.last = i % 4 == 1;
    p.stamp = (unsigned long long)i * 0x123456789ull;
    p.delta ^= 1;
    p.length += 5;
    return p;
}
__host__ __device__ inline long long packet_value(const Packet& p) {
    return p.kind + p.delta * 10ll + p.length * 1000ll + p.last * 10000000ll + (long long)p.stamp;
}

__host__ __device__ inline int colour_value(Colour c) {
    switch (c) {
        case Colour::red: return 1;
        case Colour::green: return -2;
        case Colour::blue: return 3;
    }
    return int(c) * 100;
}

__global__ void run(const float* in, unsigned* words, Packet* packets, long long* values, int* colours, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    words[i] = word_hash(in[i]);
    packets[i] = make_packet(i);
    values[i] = packet_value(packets[i]);
    colours[i] = colour_value(Colour((unsigned char)(i % 7 == 0 ? 250 : i % 5)));
}

// Unaligned members are read and written a byte at a time.
__global__ void packed(const Packed* in, Packed* out, Aligned* aligned, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    Packed p = in[i];
    p.i += p.c;
    p.d *= p.s;
    out[n - 1 - i] = p;
    Aligned& a = aligned[i];
    for (int k = 0; k < 5; k++) a.v[k] = p.i + k;
}

__global__ void pun(const double* in, unsigned long long* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned long long bits;
    memcpy(&bits, &in[i], 8);
    unsigned char bytes[8];
    memcpy(bytes, &bits, 8);
    unsigned long long reversed = 0;
    for (int k = 0; k < 8; k++) reversed = reversed << 8 | bytes[k];
    out[i] = reversed + (unsigned long long)__double_as_longlong(__longlong_as_double((long long)bits) * 2.0);
}

int main() {
    const int n = 130;
    Random random(24);
    std::vector<float> in(n);
    for (float& f : in) f = float(random.range(-1e6, 1e6));
    Buffer<float> din(in);
    Buffer<unsigned> words(n);
    Buffer<Packet> packets(n);
    Buffer<long long> values(n);
    Buffer<int> colours(n);
    run<<<2, 65>>>(din, words, packets, values, colours, n);
    auto w = words.host();
    auto p = packets.host();
    auto v = values.host();
    auto c = colours.host();
    for (int i = 0; i < n; i++) {
        expect_equal("union", i, word_hash(in[i]), w[i]);
        expect_equal("bit fields", i, packet_value(make_packet(i)), packet_value(p[i]));
        expect_equal("bit fields", i, packet_value(make_packet(i)), v[i]);
        expect_equal("enum", i, colour_value(Colour((unsigned char)(i % 7 == 0 ? 250 : i % 5))), c[i]);
    }

    std::vector<Packed> records(n);
    std::vector<double> doubles(n);
    for (int i = 0; i < n; i++) {
        records[i] = {char(i - 60), int(random.u32() >> 4), short(random.u32()), random.range(-5, 5)};
        doubles[i] = random.range(-1e3, 1e3);
    }
    Buffer<Packed> dr(records), dout(n);
    Buffer<Aligned> da(n);
    packed<<<1, 160>>>(dr, dout, da, n);
    auto r = dout.host();
    auto a = da.host();
    for (int i = 0; i < n; i++) {
        Packed e = records[i], g = r[n - 1 - i];
        e.i += e.c, e.d *= e.s;
        expect_equal("packed", i, 0, memcmp(&e, &g, sizeof e));
        for (int k = 0; k < 5; k++) expect_equal("aligned", i, int(e.i + k), a[i].v[k]);
    }

    Buffer<double> dd(doubles);
    Buffer<unsigned long long> db(n);
    pun<<<1, 130>>>(dd, db, n);
    auto b = db.host();
    for (int i = 0; i < n; i++) {
        unsigned long long bits = bits_as<unsigned long long>(doubles[i]);
        expect_equal("pun", i, (unsigned long long)__builtin_bswap64(bits) + bits_as<unsigned long long>(doubles[i] * 2), b[i]);
    }
    return passed();
}
