// Integer-heavy programs: SHA-256, MD5, AES-128 with tables in constant and shared memory, CRC-32, Philox.
#include "../check.h"

__host__ __device__ inline uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

// Constants by exact integer roots, so that no table is copied: frac(root(prime)) * 2^32.
static uint32_t root_bits(int prime, int degree) {
    // Largest r with r^degree <= prime * 2^(32 * degree).
    unsigned __int128 low = 0, high = (unsigned __int128)1 << 37;
    auto fits = [&](unsigned __int128 r) { long double x = 1; for (int i = 0; i < degree; i++) x *= (long double)r / 4294967296.0L; return x <= prime; };
    while (high - low > 1) { auto middle = (low + high) / 2; (fits(middle) ? low : high) = middle; }
    return uint32_t(low);
}

struct Tables { uint32_t k[64], h[8], md5[64], crc[256]; uint8_t sbox[256]; };
__constant__ Tables tables;
static Tables host_tables;

__host__ __device__ inline void sha256(const Tables& T, uint32_t seed, uint32_t* out) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) w[i] = i < 14 ? seed * (i + 1) + 0x01234567u * i : i == 14 ? 0 : 448;
    w[14] = 0x80000000u;
    for (int i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3, b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    for (int i = 0; i < 8; i++) s[i] = T.h[i];
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + T.k[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; j--) s[j] = s[j - 1];
        s[4] += t1, s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) out[i] = T.h[i] + s[i];
}

__host__ __device__ inline uint32_t md5_like(const Tables& T, uint32_t seed) {
    const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (int i = 0; i < 64; i++) {
        uint32_t f;
        int g;
        switch (i / 16) {
            case 0: f = (b & c) | (~b & d), g = i; break;
            case 1: f = (d & b) | (~d & c), g = (5 * i + 1) % 16; break;
            case 2: f = b ^ c ^ d, g = (3 * i + 5) % 16; break;
            default: f = c ^ (b | ~d), g = 7 * i % 16;
        }
        uint32_t t = a + f + T.md5[i] + seed * uint32_t(g + 1);
        a = d, d = c, c = b, b += rotate(t, 32 - shifts[i / 16][i % 4]);
    }
    return a ^ b ^ c ^ d;
}

__host__ __device__ inline uint8_t doubled(uint8_t x) { return uint8_t(x << 1 ^ (x & 0x80 ? 0x1b : 0)); }
__host__ __device__ inline void aes(const uint8_t* sbox, const uint8_t* key, uint8_t* state) {
    uint8_t k[16], t[16], rcon = 1;
    for (int i = 0; i < 16; i++) k[i] = key[i], state[i] ^= k[i];
    for (int round = 1; round <= 10; round++) {
        for (int i = 0; i < 16; i++) t[i] = sbox[state[(i + i % 4 * 4) % 16]];
        for (int c = 0; c < 16; c += 4) {
            uint8_t all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3];
            for (int i = 0; i < 4; i++) state[c + i] = round < 10 ? uint8_t(t[c + i] ^ all ^ doubled(t[c + i] ^ t[c + (i + 1) % 4])) : t[c + i];
        }
        uint8_t g[4] = {uint8_t(sbox[k[13]] ^ rcon), sbox[k[14]], sbox[k[15]], sbox[k[12]]};
        for (int i = 0; i < 16; i++) k[i] ^= i < 4 ? g[i] : k[i - 4];
        for (int i = 0; i < 16; i++) state[i] ^= k[i];
        rcon = doubled(rcon);
    }
}

__host__ __device__ inline uint4 philox(uint4 c, uint2 k) {
    for (int r = 0; r < 10; r++) {
        uint64_t a = uint64_t(0xD2511F53u) * c.x, b = uint64_t(0xCD9E8D57u) * c.z;
        c = {uint32_t(b >> 32) ^ c.y ^ k.x, uint32_t(b), uint32_t(a >> 32) ^ c.w ^ k.y, uint32_t(a)};
        k.x += 0x9E3779B9u, k.y += 0xBB67AE85u;
    }
    return c;
}

__global__ void run(uint32_t* sha, uint32_t* md5, uint8_t* blocks, uint32_t* crc, uint4* random, int n) {
    __shared__ uint8_t sbox[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) sbox[i] = tables.sbox[i];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sha256(tables, i, sha + 8 * i);
    md5[i] = md5_like(tables, i);
    uint8_t key[16];
    for (int k = 0; k < 16; k++) key[k] = uint8_t(i * 3 + k * 17), blocks[16 * i + k] = uint8_t(i + k);
    aes(sbox, key, blocks + 16 * i);
    uint32_t c = ~0u;
    for (int k = 0; k < i % 40; k++) c = tables.crc[(c ^ (i + k)) & 255] ^ c >> 8;
    crc[i] = ~c;
    random[i] = philox(make_uint4(i, 1, 2, 3), make_uint2(42, i * 7));
}

int main() {
    Tables& T = host_tables;
    for (int p = 2, count = 0; count < 64; p++) {
        bool prime = true;
        for (int d = 2; d * d <= p; d++) prime = prime && p % d;
        if (!prime) continue;
        T.k[count] = root_bits(p, 3);
        if (count < 8) T.h[count] = root_bits(p, 2);
        count++;
    }
    for (int i = 0; i < 64; i++) T.md5[i] = uint32_t(std::floor(std::fabs(std::sin(i + 1.0)) * 4294967296.0));
    for (uint32_t i = 0; i < 256; i++) { uint32_t c = i; for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1; T.crc[i] = c; }
    for (uint8_t p = 1, q = 1;;) {  // the S-box from inverses in GF(2^8)
        p = p ^ doubled(p);
        q ^= q << 1, q ^= q << 2, q ^= q << 4, q ^= q & 0x80 ? 9 : 0;
        auto turn = [](uint8_t x, int s) { return uint8_t(x << s | x >> (8 - s)); };
        T.sbox[p] = uint8_t(q ^ turn(q, 1) ^ turn(q, 2) ^ turn(q, 3) ^ turn(q, 4) ^ 0x63);
        if (p == 1) break;
    }
    T.sbox[0] = 0x63;
    expect_equal("first SHA-256 constant", 0, 0x428a2f98u, T.k[0]);
    expect_equal("S-box", 0, uint8_t(0xed), T.sbox[0x53]);
    CUDA_OK(cudaMemcpyToSymbol(tables, &T, sizeof T));

    const int n = 150;
    Buffer<uint32_t> sha(8 * n), md5(n), crc(n);
    Buffer<uint8_t> blocks(16 * n);
    Buffer<uint4> random(n);
    run<<<3, 55>>>(sha, md5, blocks, crc, random, n);
    auto s = sha.host(), m = md5.host(), c = crc.host();
    auto b = blocks.host();
    auto r = random.host();
    for (int i = 0; i < n; i++) {
        uint32_t digest[8], check = ~0u;
        sha256(T, i, digest);
        for (int k = 0; k < 8; k++) expect_equal("sha256", 8 * i + k, digest[k], s[8 * i + k]);
        expect_equal("md5", i, md5_like(T, i), m[i]);
        uint8_t key[16], block[16];
        for (int k = 0; k < 16; k++) key[k] = uint8_t(i * 3 + k * 17), block[k] = uint8_t(i + k);
        aes(T.sbox, key, block);
        for (int k = 0; k < 16; k++) expect_equal("aes", 16 * i + k, block[k], b[16 * i + k]);
        for (int k = 0; k < i % 40; k++) check = T.crc[(check ^ (i + k)) & 255] ^ check >> 8;
        expect_equal("crc", i, ~check, c[i]);
        uint4 e = philox(make_uint4(i, 1, 2, 3), make_uint2(42, i * 7));
        expect_equal("philox", i, 0, memcmp(&e, &r[i], sizeof e));
    }
    return passed();
}
