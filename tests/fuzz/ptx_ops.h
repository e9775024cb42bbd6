// Instructions that nvcc does not choose by itself, as inline PTX on the device and in plain C++
// for the emulation. Each pair is one sentence of the PTX manual, told twice.
#pragma once

#ifdef __CUDACC__
#define PTX_OP2(name, type, instruction, letter, cxx)                                         \
    __device__ __forceinline__ type name(type a, type b) {                                    \
        type r; asm(instruction " %0, %1, %2;" : "=" letter(r) : letter(a), letter(b)); return r; \
    }
#define PTX_OP3(name, type, instruction, letter, cxx)                                         \
    __device__ __forceinline__ type name(type a, type b, type c) {                            \
        type r; asm(instruction " %0, %1, %2, %3;" : "=" letter(r) : letter(a), letter(b), letter(c)); return r; \
    }
#define PTX_CONVERT(name, to, from, instruction, to_letter, from_letter, cxx)                 \
    __device__ __forceinline__ to name(from a) {                                              \
        to r; asm(instruction " %0, %1;" : "=" to_letter(r) : from_letter(a)); return r;      \
    }
#else
#define PTX_OP2(name, type, instruction, letter, cxx) inline type name(type a, type b) { return (type)(cxx); }
#define PTX_OP3(name, type, instruction, letter, cxx) inline type name(type a, type b, type c) { return (type)(cxx); }
#define PTX_CONVERT(name, to, from, instruction, to_letter, from_letter, cxx) inline to name(from a) { return (to)(cxx); }

namespace emu {
inline i64 clamp(i64 v, i64 low, i64 high) { return v < low ? low : v > high ? high : v; }
inline f32 flush(f32 v) { return v != 0.0f && std::fabs(v) < 1.17549435e-38f ? std::copysign(0.0f, v) : v; }
inline u32 lut(u32 a, u32 b, u32 c, u32 table) {
    u32 r = 0;
    for (u32 i = 0; i < 32; ++i) r |= (table >> ((a >> i & 1u) << 2 | (b >> i & 1u) << 1 | (c >> i & 1u)) & 1u) << i;
    return r;
}
inline u64 field(u64 a, u32 position, u32 length, u32 bits, bool is_signed) {
    position &= 0xff; length &= 0xff;
    if (length == 0) return 0;
    u64 top = position + length - 1 < bits ? position + length - 1 : bits - 1;  // holds the sign
    u64 sign = is_signed ? a >> top & 1u : 0, r = 0;
    for (u32 i = 0; i < bits; ++i)
        r |= (i < length && position + i < bits ? a >> (position + i) & 1u : sign) << i;
    return r;
}
inline u32 insert(u32 a, u32 b, u32 position, u32 length) {
    position &= 0xff; length &= 0xff;
    for (u32 i = 0; i < length && position + i < 32; ++i)
        b = (b & ~(1u << (position + i))) | (a >> i & 1u) << (position + i);
    return b;
}
}  // namespace emu
#endif

PTX_OP2(ptx_shl, u32, "shl.b32", "r", b > 31u ? 0u : a << b)
PTX_OP2(ptx_shr, u32, "shr.u32", "r", b > 31u ? 0u : a >> b)
PTX_OP2(ptx_sar, u32, "shr.s32", "r", (i32)a >> (b > 31u ? 31u : b))
PTX_OP2(ptx_add_sat, i32, "add.sat.s32", "r", emu::clamp((i64)a + b, INT32_MIN, INT32_MAX))
PTX_OP2(ptx_sub_sat, i32, "sub.sat.s32", "r", emu::clamp((i64)a - b, INT32_MIN, INT32_MAX))
PTX_OP2(ptx_min_s16, i16, "min.s16", "h", a < b ? a : b)
PTX_OP2(ptx_mul_hi_s16, i16, "mul.hi.s16", "h", (i32)a * b >> 16)
PTX_OP3(ptx_mad_hi, u32, "mad.hi.u32", "r", (u32)((u64)a * b >> 32) + c)
PTX_OP3(ptx_mad_hi_s, i32, "mad.hi.s32", "r", (u32)((i64)a * b >> 32) + (u32)c)
PTX_OP3(ptx_mad24, u32, "mad24.lo.u32", "r", (a & 0xffffffu) * (b & 0xffffffu) + c)
PTX_OP3(ptx_bfe_u, u32, "bfe.u32", "r", emu::field(a, b, c, 32, false))
PTX_OP3(ptx_bfe_s, u32, "bfe.s32", "r", emu::field(a, b, c, 32, true))
PTX_OP3(ptx_slct, i32, "slct.s32.s32", "r", c >= 0 ? a : b)
PTX_OP3(ptx_lop_majority, u32, "{.reg .b32 t; lop3.b32 t, %1, %2, %3, 0xe8; mov.b32 %0, t;} //", "r", emu::lut(a, b, c, 0xe8))
PTX_OP3(ptx_lop_parity, u32, "{.reg .b32 t; lop3.b32 t, %1, %2, %3, 0x96; mov.b32 %0, t;} //", "r", emu::lut(a, b, c, 0x96))
PTX_OP3(ptx_lop_odd, u32, "{.reg .b32 t; lop3.b32 t, %1, %2, %3, 0x1d; mov.b32 %0, t;} //", "r", emu::lut(a, b, c, 0x1d))
PTX_OP3(ptx_bfi, u32, "{.reg .b32 t; bfi.b32 t, %1, %2, %3, 9; mov.b32 %0, t;} //", "r", emu::insert(a, b, c, 9))
PTX_OP2(ptx_add_ftz, f32, "add.ftz.f32", "f", emu::flush(emu::flush(a) + emu::flush(b)))
PTX_OP2(ptx_mul_ftz, f32, "mul.ftz.f32", "f", emu::flush(emu::flush(a) * emu::flush(b)))
PTX_OP2(ptx_mul_sat, f32, "mul.sat.f32", "f", __saturatef(a* b))
PTX_OP2(ptx_max_nan, f32, "max.NaN.f32", "f", a != a || b != b ? (f32)NAN : fmaxf(a, b))
PTX_OP3(ptx_fma_sat, f32, "fma.rn.sat.f32", "f", __saturatef(std::fma(a, b, c)))
PTX_CONVERT(ptx_sat_s8, i32, i32, "cvt.sat.s8.s32", "r", "r", emu::clamp(a, -128, 127))
PTX_CONVERT(ptx_sat_u8, u32, i32, "cvt.sat.u8.s32", "r", "r", emu::clamp(a, 0, 255))
PTX_CONVERT(ptx_sat_u16, u32, u32, "cvt.sat.u16.u32", "r", "r", a > 65535u ? 65535u : a)
PTX_CONVERT(ptx_round_even, f32, f32, "cvt.rni.f32.f32", "f", "f", std::nearbyint(a))
PTX_CONVERT(ptx_half, u16, f32, "cvt.rn.f16.f32", "h", "f", emu::to_bits((_Float16)a))
PTX_CONVERT(ptx_from_half, f32, u16, "cvt.f32.f16", "f", "h", emu::from_bits<_Float16>(a))
