// Atomic instructions (PTX atom and red) on the 32 lanes of a warp.
//
// The lanes act in ascending order. Neighbouring lanes with one address are folded into a single
// update whose intermediate values become the lanes' results: the outcome is that of the serial
// order, at the price of one atomic operation. Several workers run blocks in parallel, so global
// memory needs real atomics; shared memory belongs to one worker and does not, nor does device
// memory in a launch that has only one.
#include <algorithm>
#include <cmath>

#include "half.h"
#include "runtime.h"
#include "simd.h"

namespace {

struct Add {
    template <class T> static T apply(T old, T a, T) { return T(old + a); }
};
struct Min {
    template <class T> static T apply(T old, T a, T) { return std::min(old, a); }
};
struct Max {
    template <class T> static T apply(T old, T a, T) { return std::max(old, a); }
};
struct Inc {
    template <class T> static T apply(T old, T a, T) { return old >= a ? 0 : old + 1; }
};
struct Dec {
    template <class T> static T apply(T old, T a, T) { return old == 0 || old > a ? a : old - 1; }
};
struct Exch {
    template <class T> static T apply(T, T a, T) { return a; }
};
struct Cas {
    template <class T> static T apply(T old, T a, T b) { return old == a ? b : old; }
};
struct And {
    template <class T> static T apply(T old, T a, T) { return old & a; }
};
struct Or {
    template <class T> static T apply(T old, T a, T) { return old | a; }
};
struct Xor {
    template <class T> static T apply(T old, T a, T) { return old ^ a; }
};

// Floating-point additions work on bit patterns, so that a compare-and-swap compares bits.
float flushed(float value) {
    return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}
// The PTX ISA: atom.add.f32 flushes denormals in global memory and keeps them in shared memory.
struct AddF32Global {
    static uint32_t apply(uint32_t old, uint32_t a, uint32_t) {
        float sum = flushed(bits_float(old)) + flushed(bits_float(a));
        return float_bits(flushed(sum));
    }
};
struct AddF32Shared {
    static uint32_t apply(uint32_t old, uint32_t a, uint32_t) {
        return float_bits(bits_float(old) + bits_float(a));
    }
};
struct AddF64 {
    static uint64_t apply(uint64_t old, uint64_t a, uint64_t) {
        return double_bits(bits_double(old) + bits_double(a));
    }
};
// The sum of two halves rounded to float, then to half, is the correctly rounded sum: float has
// more than twice the bits of either format.
struct AddF16 {
    static uint16_t apply(uint16_t old, uint16_t a, uint16_t) {
        return f32_to_f16(f16_to_f32(old) + f16_to_f32(a));
    }
};
struct AddBf16 {
    static uint16_t apply(uint16_t old, uint16_t a, uint16_t) {
        return f32_to_bf16(bf16_to_f32(old) + bf16_to_f32(a));
    }
};
template <class One> struct Pair {
    static uint32_t apply(uint32_t old, uint32_t a, uint32_t) {
        uint32_t low = One::apply(uint16_t(old), uint16_t(a), 0);
        uint32_t high = One::apply(uint16_t(old >> 16), uint16_t(a >> 16), 0);
        return low | high << 16;
    }
};

// What one instruction works on.
template <class T> struct Lanes {
    T* dst;
    const uint64_t* address;
    const T* a;
    const T* b;
};

// Applies the lanes [first, last) of `mask` to `value`, noting each lane's old value.
template <class Op, class T>
T fold(const Lanes<T>& lanes, uint32_t mask, uint32_t first, uint32_t last, T value) {
    for (uint32_t i = first; i < last; ++i) {
        if (!(mask >> i & 1)) continue;
        if (lanes.dst) lanes.dst[i] = value;
        value = Op::apply(value, lanes.a[i], lanes.b ? lanes.b[i] : T());
    }
    return value;
}

template <class Op, class T>
void update(const Lanes<T>& lanes, uint32_t mask, uint32_t first, uint32_t last, bool is_private) {
    T* target = reinterpret_cast<T*>(lanes.address[first]);
    if (is_private) {
        *target = fold<Op>(lanes, mask, first, last, *target);
        return;
    }
    T seen = __atomic_load_n(target, __ATOMIC_ACQUIRE);
    T wanted;
    do {
        wanted = fold<Op>(lanes, mask, first, last, seen);
        if (wanted == seen) return;  // a failed cas, a min or max that changes nothing
    } while (!__atomic_compare_exchange_n(target, &seen, wanted, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_ACQUIRE));
}

// No other worker touches device memory. (Host memory may be in use by the program.)
bool is_alone(const WarpState* warp) {
    if (!warp->worker) return false;
    const Launch& launch = launch_of(warp);
    return launch.threads <= 1 || (launch.flags & kOrdered);
}

// Calls `each(first, last, in_shared, is_private)` for every run of active lanes with one address.
template <class Each>
void for_each_run(const Warp* warp, uint32_t mask, const uint64_t* address, Each each) {
    const bool alone = is_alone(static_cast<const WarpState*>(warp));
    for (uint32_t rest = mask; rest;) {
        uint32_t first = __builtin_ctz(rest);
        uint32_t last = first + 1;
        while (last < kLanes && (!(mask >> last & 1) || address[last] == address[first])) ++last;
        bool in_shared = address[first] - warp->shared_base < warp->shared_bytes;
        each(first, last, in_shared, in_shared || (alone && in_device_arena(address[first])));
        rest = last < kLanes ? rest >> last << last : 0;
    }
}

template <class Op, class T>
void atomic(const Warp* warp, uint32_t mask, T* dst, const uint64_t* address, const T* a,
            const T* b) {
    Lanes<T> lanes{dst, address, a, b};
    for_each_run(warp, mask, address, [&](uint32_t first, uint32_t last, bool, bool is_private) {
        update<Op>(lanes, mask, first, last, is_private);
    });
}

}  // namespace

#define ATOMIC(OP, TYPE, T, BODY)                                                                  \
    extern "C" void rt_atom_##OP##_##TYPE(Warp* warp, uint32_t mask, T* dst,                       \
                                          const uint64_t* address, const T* a, const T* b) {       \
        BODY;                                                                                      \
    }
#define PLAIN(OP, NAME, TYPE, T) ATOMIC(OP, TYPE, T, atomic<NAME>(warp, mask, dst, address, a, b))
#define FLOAT(TYPE, NAME, T) \
    ATOMIC(add, TYPE, T, KeepDenormals keep; atomic<NAME>(warp, mask, dst, address, a, b))

PLAIN(add, Add, u32, uint32_t)
PLAIN(add, Add, s32, uint32_t)
PLAIN(add, Add, u64, uint64_t)
PLAIN(add, Add, s64, uint64_t)
PLAIN(min, Min, u32, uint32_t)
PLAIN(min, Min, s32, int32_t)
PLAIN(min, Min, u64, uint64_t)
PLAIN(min, Min, s64, int64_t)
PLAIN(max, Max, u32, uint32_t)
PLAIN(max, Max, s32, int32_t)
PLAIN(max, Max, u64, uint64_t)
PLAIN(max, Max, s64, int64_t)
PLAIN(inc, Inc, u32, uint32_t)
PLAIN(dec, Dec, u32, uint32_t)
PLAIN(exch, Exch, b32, uint32_t)
PLAIN(exch, Exch, b64, uint64_t)
PLAIN(cas, Cas, b16, uint16_t)
PLAIN(cas, Cas, b32, uint32_t)
PLAIN(cas, Cas, b64, uint64_t)
PLAIN(and, And, b32, uint32_t)
PLAIN(and, And, b64, uint64_t)
PLAIN(or, Or, b32, uint32_t)
PLAIN(or, Or, b64, uint64_t)
PLAIN(xor, Xor, b32, uint32_t)
PLAIN(xor, Xor, b64, uint64_t)
FLOAT(f64, AddF64, uint64_t)
FLOAT(f16, AddF16, uint16_t)
FLOAT(bf16, AddBf16, uint16_t)
FLOAT(f16x2, Pair<AddF16>, uint32_t)
FLOAT(bf16x2, Pair<AddBf16>, uint32_t)

extern "C" void rt_atom_add_f32(Warp* warp, uint32_t mask, uint32_t* dst, const uint64_t* address,
                                const uint32_t* a, const uint32_t* b) {
    KeepDenormals keep;
    Lanes<uint32_t> lanes{dst, address, a, b};
    for_each_run(warp, mask, address,
                 [&](uint32_t first, uint32_t last, bool in_shared, bool is_private) {
                     if (in_shared)
                         update<AddF32Shared>(lanes, mask, first, last, true);
                     else
                         update<AddF32Global>(lanes, mask, first, last, is_private);
                 });
}
