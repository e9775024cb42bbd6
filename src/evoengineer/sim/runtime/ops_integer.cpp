// Rare integer instructions on 32 lanes: prmt, dp4a, dp2a, bfe, bfi, bfind, fns, szext, bmsk.
//
// Each follows the pseudo-code of the PTX ISA. All lanes are computed; codegen blends.
#include <algorithm>

#include "abi.h"
#include "simd.h"

#pragma GCC optimize("O3")

namespace {

enum PermuteMode : uint32_t {
    kDefault = 0, kForward4, kBackward4, kReplicate8, kEdgeLeft, kEdgeRight, kReplicate16
};

ALWAYS_INLINE uint32_t permute_default(uint32_t a, uint32_t b, uint32_t selector) {
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        uint32_t pick = selector >> 4 * i;
        uint32_t byte = (pick & 4 ? b : a) >> (pick & 3) * 8 & 0xff;
        uint32_t sign = 0xff * (byte >> 7);
        result |= (pick & 8 ? sign : byte) << 8 * i;
    }
    return result;
}

uint32_t permute(uint32_t mode, uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = uint64_t(b) << 32 | a;
    const uint32_t s = selector & 3;
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        uint32_t from;
        switch (mode) {
            case kForward4: from = s + i; break;
            case kBackward4: from = (s - i) & 7; break;
            case kReplicate8: from = s; break;
            case kEdgeLeft: from = std::max(s, i); break;
            case kEdgeRight: from = std::min(s, i); break;
            default: from = (s & 1) * 2 + (i & 1); break;
        }
        result |= (bytes >> 8 * from & 0xff) << 8 * i;
    }
    return result;
}

ALWAYS_INLINE uint32_t part(uint32_t word, uint32_t index, uint32_t bits, bool is_signed) {
    uint32_t shifted = word << (32 - bits * (index + 1));
    return is_signed ? uint32_t(int32_t(shifted) >> (32 - bits)) : shifted >> (32 - bits);
}

// c + the products of the `count` lowest `bits`-wide parts of a with bytes of b, from byte `first`.
template <uint32_t count, uint32_t bits, bool a_signed, bool b_signed>
ALWAYS_INLINE uint32_t dot(uint32_t a, uint32_t b, uint32_t c, uint32_t first) {
    b >>= 8 * first;
    for (uint32_t k = 0; k < count; ++k)
        c += part(a, k, bits, a_signed) * part(b, k, 8, b_signed);
    return c;
}

template <class T> constexpr T bits_of() { return sizeof(T) * 8; }

// `count` ones, at the bottom. Written without branches, as is all that the loops below use.
template <class T> ALWAYS_INLINE T low_bits(T count) {
    T ones = (T(1) << (count & (bits_of<T>() - 1))) - 1;
    return count >= bits_of<T>() ? ~T(0) : ones;
}

template <class T> ALWAYS_INLINE T extract(T a, T position, T length, bool is_signed) {
    constexpr T bits = bits_of<T>();
    position &= 0xff;
    length &= 0xff;
    T shifted = a >> (position & (bits - 1));
    T field = position < bits ? shifted & low_bits<T>(length) : 0;
    if (!is_signed) return field;
    T last = position + length - 1;
    T sign = a >> ((last < bits ? last : bits - 1) & (bits - 1)) & 1;
    T room = position < bits ? bits - position : 0;
    T beyond = ~low_bits<T>(length < room ? length : room);
    return field | (length == 0 ? 0 : (T(0) - sign) & beyond);
}

template <class T> T insert(T a, T b, uint32_t position, uint32_t length) {
    position &= 0xff;
    if (position >= bits_of<T>()) return b;
    T field = low_bits<T>(T(length & 0xff)) << position;
    return (b & ~field) | (a << position & field);
}

uint32_t leading_one(uint64_t a, uint32_t msb, bool shift_amount) {
    if (a == 0) return 0xffffffffu;
    uint32_t position = 63 - __builtin_clzll(a);
    return shift_amount ? msb - position : position;
}

uint32_t nth_set(uint32_t mask, uint32_t base, int32_t offset) {
    if (base > 31) return 0xffffffffu;
    if (offset == 0) return mask >> base & 1 ? base : 0xffffffffu;
    // In 64 bits: the most negative offset has no positive counterpart.
    int64_t count = std::abs(int64_t(offset)) - 1;
    for (int32_t at = int32_t(base); at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
        if (mask >> at & 1 && count-- == 0) return uint32_t(at);
    return 0xffffffffu;
}

uint32_t sign_extend_from(uint32_t a, uint32_t b, bool clamp, bool is_signed) {
    if (clamp && b >= 32) return a;
    uint32_t width = b & 31;
    uint32_t high = ~0u << width;
    bool sign = is_signed && width != 0 && (a >> (width - 1) & 1);
    return (a & ~high) | (sign ? high : 0);
}

uint32_t bit_mask(uint32_t a, uint32_t b, bool clamp) {
    uint32_t position = a & 31, width = b & 31, end = position + width;
    uint32_t from = clamp && a >= 32 ? 0 : ~0u << position;
    bool open = end >= 32 || (clamp && (a >= 32 || b >= 32));
    return from & ~(open ? 0 : ~0u << end);
}

}  // namespace

#define LANES for (uint32_t i = 0; i < kLanes; ++i)

extern "C" {

// mode: 0 default, 1 f4e, 2 b4e, 3 rc8, 4 ecl, 5 ecr, 6 rc16.
VECTOR_CLONES void rt_prmt(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                           uint32_t mode) {
    if (mode == kDefault) {
        LANES d[i] = permute_default(a[i], b[i], c[i]);
    } else {
        LANES d[i] = permute(mode, a[i], b[i], c[i]);
    }
}

VECTOR_CLONES void rt_dp4a(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                           uint32_t a_signed, uint32_t b_signed) {
    switch (a_signed * 2 + b_signed) {
        case 0: LANES d[i] = dot<4, 8, false, false>(a[i], b[i], c[i], 0); return;
        case 1: LANES d[i] = dot<4, 8, false, true>(a[i], b[i], c[i], 0); return;
        case 2: LANES d[i] = dot<4, 8, true, false>(a[i], b[i], c[i], 0); return;
        default: LANES d[i] = dot<4, 8, true, true>(a[i], b[i], c[i], 0); return;
    }
}

VECTOR_CLONES void rt_dp2a(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                           uint32_t a_signed, uint32_t b_signed, uint32_t high) {
    const uint32_t first = high ? 2 : 0;
    switch (a_signed * 2 + b_signed) {
        case 0: LANES d[i] = dot<2, 16, false, false>(a[i], b[i], c[i], first); return;
        case 1: LANES d[i] = dot<2, 16, false, true>(a[i], b[i], c[i], first); return;
        case 2: LANES d[i] = dot<2, 16, true, false>(a[i], b[i], c[i], first); return;
        default: LANES d[i] = dot<2, 16, true, true>(a[i], b[i], c[i], first); return;
    }
}

VECTOR_CLONES void rt_bfe_u32(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    LANES d[i] = extract<uint32_t>(a[i], b[i], c[i], false);
}
VECTOR_CLONES void rt_bfe_s32(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    LANES d[i] = extract<uint32_t>(a[i], b[i], c[i], true);
}
VECTOR_CLONES void rt_bfe_u64(uint64_t* d, const uint64_t* a, const uint32_t* b, const uint32_t* c) {
    LANES d[i] = extract<uint64_t>(a[i], b[i], c[i], false);
}
VECTOR_CLONES void rt_bfe_s64(uint64_t* d, const uint64_t* a, const uint32_t* b, const uint32_t* c) {
    LANES d[i] = extract<uint64_t>(a[i], b[i], c[i], true);
}

// Inserts the low `length` bits of a into b at `position`.
void rt_bfi_b32(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* position,
                const uint32_t* length) {
    LANES d[i] = insert(a[i], b[i], position[i], length[i]);
}
void rt_bfi_b64(uint64_t* d, const uint64_t* a, const uint64_t* b, const uint32_t* position,
                const uint32_t* length) {
    LANES d[i] = insert(a[i], b[i], position[i], length[i]);
}

void rt_bfind_u32(uint32_t* d, const uint32_t* a, uint32_t shift_amount) {
    LANES d[i] = leading_one(a[i], 31, shift_amount);
}
void rt_bfind_s32(uint32_t* d, const uint32_t* a, uint32_t shift_amount) {
    LANES d[i] = leading_one(int32_t(a[i]) < 0 ? ~a[i] : a[i], 31, shift_amount);
}
void rt_bfind_u64(uint32_t* d, const uint64_t* a, uint32_t shift_amount) {
    LANES d[i] = leading_one(a[i], 63, shift_amount);
}
void rt_bfind_s64(uint32_t* d, const uint64_t* a, uint32_t shift_amount) {
    LANES d[i] = leading_one(int64_t(a[i]) < 0 ? ~a[i] : a[i], 63, shift_amount);
}

// Position of the c-th set bit of a, counted from b.
void rt_fns(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    LANES d[i] = nth_set(a[i], b[i], int32_t(c[i]));
}

// wrap: 0 .clamp, 1 .wrap; is_signed: 0 .u32, 1 .s32.
void rt_szext(uint32_t* d, const uint32_t* a, const uint32_t* b, uint32_t wrap,
              uint32_t is_signed) {
    LANES d[i] = sign_extend_from(a[i], b[i], !wrap, is_signed);
}

void rt_bmsk(uint32_t* d, const uint32_t* a, const uint32_t* b, uint32_t clamp) {
    LANES d[i] = bit_mask(a[i], b[i], clamp);
}

}  // extern "C"
