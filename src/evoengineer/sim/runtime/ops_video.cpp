// The video instructions of PTX, scalar (vadd … vset, vmad) and SIMD (vadd2 … vset4), on 32 lanes.
//
// One entry point, rt_video(d, a, b, c, desc); desc says everything about the instruction:
//   bits  0-3   operation: 0 add, 1 sub, 2 absdiff, 3 min, 4 max, 5 set, 6 avrg, 7 shl, 8 shr, 9 mad
//         4-5   elements: 0 scalar, 1 two half-words (…2), 2 four bytes (…4)
//         6     a is signed        7  b is signed        8  d is signed (dtype .s32)
//         9     .sat
//        10-11  secondary operation with c: 0 none, 1 .add, 2 .min, 3 .max (scalar only)
//        12-14  set: 0 eq, 1 ne, 2 lt, 3 le, 4 gt, 5 ge
//        15     shl, shr: 0 .clamp, 1 .wrap
//        16-17  mad: 0 no scale, 1 .shr7, 2 .shr15
//        18     mad: .po      19 a negated      20 b negated      21 c negated
//        24-39  selector of a   40-55  selector of b
//               scalar: 0 whole word, 1-4 .b0-.b3, 5 .h0, 6 .h1
//               SIMD: nibble i names the part of {b,a} that element i comes from
//               (defaults: two .h10 = 0x10 and .h32 = 0x32; four 0x3210 and 0x7654)
//        56-59  scalar: selector of d as above (0: d is the whole result, else merged into c)
//               SIMD: mask of the elements written (two: 3, four: 15 by default); others come from c
// The operand c is read only when the instruction has one, but must be readable.
#include <algorithm>

#include "abi.h"
#include "simd.h"

#pragma GCC optimize("O3")

namespace {

enum Operation : uint32_t {
    kAdd = 0, kSub, kAbsDiff, kMin, kMax, kSet, kAverage, kShiftLeft, kShiftRight, kMad
};
enum Secondary : uint32_t { kNone = 0, kPlus, kLesser, kGreater };

struct Description {
    uint64_t bits;

    uint32_t field(uint32_t first, uint32_t count) const {
        return bits >> first & ((1u << count) - 1);
    }
    uint32_t operation() const { return field(0, 4); }
    uint32_t elements() const { return 1u << field(4, 2); }
    bool a_signed() const { return field(6, 1); }
    bool b_signed() const { return field(7, 1); }
    bool d_signed() const { return field(8, 1); }
    bool saturate() const { return field(9, 1); }
    uint32_t secondary() const { return field(10, 2); }
    uint32_t comparison() const { return field(12, 3); }
    bool wrap() const { return field(15, 1); }
    uint32_t scale() const { return field(16, 2); }
    bool plus_one() const { return field(18, 1); }
    bool negate_product() const { return field(19, 1) != field(20, 1); }
    bool negate_c() const { return field(21, 1); }
    uint32_t a_selector() const { return field(24, 16); }
    uint32_t b_selector() const { return field(40, 16); }
    uint32_t d_selector() const { return field(56, 4); }
};

int64_t extend(uint64_t value, uint32_t width, bool is_signed) {
    uint32_t unused = 64 - width;
    return is_signed ? int64_t(value << unused) >> unused : int64_t(value << unused >> unused);
}

// Position and width of what a scalar selector names.
struct Part {
    uint32_t position, width;
};
Part part(uint32_t selector) {
    if (selector == 0) return {0, 32};
    if (selector <= 4) return {8 * (selector - 1), 8};
    return {16 * (selector - 5), 16};
}

int64_t select(uint32_t value, uint32_t selector, bool is_signed) {
    Part from = part(selector);
    return extend(value >> from.position, from.width, is_signed);
}

int64_t clamped(int64_t value, uint32_t width, bool is_signed) {
    int64_t low = is_signed ? -(int64_t(1) << (width - 1)) : 0;
    int64_t high = (int64_t(1) << (is_signed ? width - 1 : width)) - 1;
    return std::clamp(value, low, high);
}

bool compare(uint32_t comparison, int64_t a, int64_t b) {
    switch (comparison) {
        case 0: return a == b;
        case 1: return a != b;
        case 2: return a < b;
        case 3: return a <= b;
        case 4: return a > b;
        default: return a >= b;
    }
}

int64_t shift(const Description& desc, int64_t a, int64_t b) {
    uint32_t amount = desc.wrap() ? b & 31 : std::min<int64_t>(b, 32);
    if (desc.operation() == kShiftRight) return a >> amount;
    if (amount == 32 && a > INT32_MAX) return int64_t(1) << 62;  // too large for 64 bits: .sat must see it as such
    return int64_t(uint64_t(a) << amount);
}

int64_t primary(const Description& desc, int64_t a, int64_t b) {
    switch (desc.operation()) {
        case kAdd: return a + b;
        case kSub: return a - b;
        case kAbsDiff: return a < b ? b - a : a - b;
        case kMin: return std::min(a, b);
        case kMax: return std::max(a, b);
        case kSet: return compare(desc.comparison(), a, b);
        case kAverage: return (a + b + (a + b >= 0)) >> 1;  // halves round away from zero
        default: return shift(desc, a, b);
    }
}

uint32_t multiply_add(const Description& desc, int64_t a, int64_t b, uint32_t c) {
    bool is_signed =
        desc.a_signed() || desc.b_signed() || desc.negate_product() || desc.negate_c();
    __int128 product = __int128(a) * b;
    int low = 0;
    if (desc.plus_one()) {
        low = 1;
    } else if (desc.negate_product()) {
        product = ~product;
        low = 1;
    } else if (desc.negate_c()) {
        c = ~c;
        low = 1;
    }
    __int128 sum = product + (is_signed ? __int128(int32_t(c)) : __int128(c)) + low;
    sum >>= desc.scale() == 1 ? 7 : desc.scale() == 2 ? 15 : 0;
    if (desc.saturate())
        sum = is_signed ? std::clamp<__int128>(sum, INT32_MIN, INT32_MAX)
                        : std::clamp<__int128>(sum, 0, UINT32_MAX);
    return uint32_t(sum);
}

uint32_t scalar(const Description& desc, uint32_t a_word, uint32_t b_word, uint32_t c) {
    int64_t a = select(a_word, desc.a_selector() & 15, desc.a_signed());
    int64_t b = select(b_word, desc.b_selector() & 15, desc.b_signed());
    if (desc.operation() == kMad) return multiply_add(desc, a, b, c);
    int64_t value = primary(desc, a, b);
    Part to = part(desc.d_selector());
    if (desc.saturate()) value = clamped(value, to.width, desc.d_signed());
    uint32_t word = uint32_t(value);
    switch (desc.secondary()) {
        case kPlus: return word + c;
        case kLesser:
            return desc.d_signed() ? std::min(int32_t(word), int32_t(c)) : std::min(word, c);
        case kGreater:
            return desc.d_signed() ? std::max(int32_t(word), int32_t(c)) : std::max(word, c);
    }
    if (to.width == 32) return word;
    uint32_t written = ((1u << to.width) - 1) << to.position;
    return (c & ~written) | (word << to.position & written);
}

// One element of a SIMD instruction, the same for all lanes: which word and which bits of it the
// operands are, and where the result goes. Elements fit in 16 bits, so 32-bit arithmetic does.
struct Element {
    const uint32_t *a, *b;
    uint32_t a_shift, b_shift, to;
    uint32_t ones;                // as wide as the element
    int32_t a_sign, b_sign;       // its highest bit if signed, else 0
    int32_t low, high;            // bounds of .sat, or no bounds
    bool accumulate;
};

template <class Operate>
ALWAYS_INLINE void each_lane(const Element& e, uint32_t* d, Operate operate) {
    for (uint32_t i = 0; i < kLanes; ++i) {
        int32_t x = (int32_t(e.a[i] >> e.a_shift & e.ones) ^ e.a_sign) - e.a_sign;
        int32_t y = (int32_t(e.b[i] >> e.b_shift & e.ones) ^ e.b_sign) - e.b_sign;
        int32_t value = operate(x, y);
        value = value < e.low ? e.low : value;
        value = value > e.high ? e.high : value;
        d[i] = e.accumulate ? d[i] + uint32_t(value) : d[i] | (uint32_t(value) & e.ones) << e.to;
    }
}

VECTOR_CLONES void do_element(const Element& e, const Description& desc, uint32_t* d) {
    switch (desc.operation()) {
        case kAdd: each_lane(e, d, [](int32_t x, int32_t y) { return x + y; }); return;
        case kSub: each_lane(e, d, [](int32_t x, int32_t y) { return x - y; }); return;
        case kAbsDiff: each_lane(e, d, [](int32_t x, int32_t y) { return x < y ? y - x : x - y; }); return;
        case kMin: each_lane(e, d, [](int32_t x, int32_t y) { return x < y ? x : y; }); return;
        case kMax: each_lane(e, d, [](int32_t x, int32_t y) { return x > y ? x : y; }); return;
        default: each_lane(e, d, [&](int32_t x, int32_t y) { return int32_t(primary(desc, x, y)); }); return;
    }
}

void simd(const Description& desc, uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
    const uint32_t count = desc.elements(), width = 32 / count, ones = (1u << width) - 1;
    const bool accumulate = desc.secondary() == kPlus;
    uint32_t kept = 0;  // bits that come from c
    for (uint32_t k = 0; k < count; ++k)
        if (!(desc.d_selector() >> k & 1)) kept |= ones << width * k;
    uint32_t result[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i) result[i] = accumulate ? c[i] : c[i] & kept;
    for (uint32_t k = 0; k < count; ++k) {
        if (!(desc.d_selector() >> k & 1)) continue;
        const uint32_t a_from = desc.a_selector() >> 4 * k & (2 * count - 1);
        const uint32_t b_from = desc.b_selector() >> 4 * k & (2 * count - 1);
        const int32_t sign = 1 << (width - 1);
        Element e{a_from < count ? a : b, b_from < count ? a : b, a_from % count * width, b_from % count * width,
                  k * width, ones, desc.a_signed() ? sign : 0, desc.b_signed() ? sign : 0, INT32_MIN, INT32_MAX,
                  accumulate};
        if (desc.saturate()) {
            e.low = desc.d_signed() ? -sign : 0;
            e.high = desc.d_signed() ? sign - 1 : int32_t(ones);
        }
        do_element(e, desc, result);
    }
    for (uint32_t i = 0; i < kLanes; ++i) d[i] = result[i];  // d may be an operand
}

}  // namespace

extern "C" void rt_video(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                         uint64_t bits) {
    const Description desc{bits};
    if (desc.elements() > 1) return simd(desc, d, a, b, c);
    for (uint32_t i = 0; i < kLanes; ++i) d[i] = scalar(desc, a[i], b[i], c[i]);
}
