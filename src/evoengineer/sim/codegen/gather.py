"""Loads of lanes whose addresses no form describes.

One function of the module for all sites: a gather in many places takes long to compile.
"""

from __future__ import annotations

from collections.abc import Iterable

from evoengineer.sim.codegen.emitter import Emitter, Val


def gather(e: Emitter, addresses: str, bits: int) -> Val:
    """An element for each active lane, from its own address."""
    if bits < 32:  # LLVM would write out 32 branches
        out = e.alloca(bits * 4)
        pointer = e.spill(e.varying(addresses, 64))
        e.call("void", f"rt_gather{bits}", [("i32", e.active_bits()), ("ptr", out), ("ptr", pointer)])
        return e.reload(out, bits)
    name, ty = f"gather{bits}", f"<32 x i{bits}>"
    define_gather(e, bits)
    text = f"call {ty} @{name}(<32 x i64> {addresses}, i32 {e.mask_bits})"
    return e.varying(e.ins(text), bits)


def define_gather(e: Emitter, bits: int) -> None:
    """The function that does it, once per module."""
    if f"gather{bits}" in e.defined_functions:
        return
    bytes_ = bits // 8
    low, high = range(16), range(16, 32)
    text = _GATHER.format(
        bits=bits,
        bytes=bytes_,
        steps=_items("i64", (lane * bytes_ for lane in range(32))),
        halves=_items("i32", (lane & 16 for lane in range(32))),
        half_steps=_items("i64", (lane % 16 * bytes_ for lane in range(32))),
        low=_items("i32", low),
        high=_items("i32", high),
    )
    e.define(f"gather{bits}", text)


def _items(kind: str, values: Iterable[int]) -> str:
    return ", ".join(f"{kind} {value}" for value in values)


# Most of these addresses are consecutive all the same, all one, or two rows of 16 threads, and a gather takes ten times
# as long as any of these.
_GATHER = """define internal <32 x i{bits}> @gather{bits}(<32 x i64> %at, i32 %mask) noinline #0 {{
  %lanes = bitcast i32 %mask to <32 x i1>
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %one = extractelement <32 x i64> %at, i32 %lane
  %wide = zext i32 %lane to i64
  %step = mul i64 %wide, {bytes}
  %first = sub i64 %one, %step
  %v0 = insertelement <32 x i64> poison, i64 %first, i64 0
  %v1 = shufflevector <32 x i64> %v0, <32 x i64> poison, <32 x i32> zeroinitializer
  %v2 = add <32 x i64> %v1, <{steps}>
  %v3 = icmp ne <32 x i64> %v2, %at
  %v4 = bitcast <32 x i1> %v3 to i32
  %v5 = and i32 %v4, %mask
  %v6 = icmp eq i32 %v5, 0
  br i1 %v6, label %row, label %unlike
row:
  %start = inttoptr i64 %first to ptr
  %r = call <32 x i{bits}> @llvm.masked.load.v32i{bits}.p0(
      ptr align {bytes} %start, <32 x i1> %lanes, <32 x i{bits}> zeroinitializer)
  ret <32 x i{bits}> %r
unlike:
  %u0 = insertelement <32 x i64> poison, i64 %one, i64 0
  %u1 = shufflevector <32 x i64> %u0, <32 x i64> poison, <32 x i32> zeroinitializer
  %u2 = icmp ne <32 x i64> %u1, %at
  %u3 = bitcast <32 x i1> %u2 to i32
  %u4 = and i32 %u3, %mask
  %u5 = icmp eq i32 %u4, 0
  br i1 %u5, label %point, label %apart
point:
  %place = inttoptr i64 %one to ptr
  %p0 = load i{bits}, ptr %place, align {bytes}
  %p1 = insertelement <32 x i{bits}> poison, i{bits} %p0, i64 0
  %p2 = shufflevector <32 x i{bits}> %p1, <32 x i{bits}> poison, <32 x i32> zeroinitializer
  ret <32 x i{bits}> %p2
apart:
  %h0 = shufflevector <32 x i64> %at, <32 x i64> poison, <32 x i32> <{halves}>
  %h1 = add <32 x i64> %h0, <{half_steps}>
  %h2 = icmp ne <32 x i64> %h1, %at
  %h3 = bitcast <32 x i1> %h2 to i32
  %h4 = and i32 %h3, %mask
  %h5 = icmp eq i32 %h4, 0
  br i1 %h5, label %two_rows, label %all_over
two_rows:
  %lows = shufflevector <32 x i1> %lanes, <32 x i1> poison, <16 x i32> <{low}>
  %highs = shufflevector <32 x i1> %lanes, <32 x i1> poison, <16 x i32> <{high}>
  %a0 = extractelement <32 x i64> %at, i64 0
  %b0 = extractelement <32 x i64> %at, i64 16
  %a1 = inttoptr i64 %a0 to ptr
  %b1 = inttoptr i64 %b0 to ptr
  %a2 = call <16 x i{bits}> @llvm.masked.load.v16i{bits}.p0(
      ptr align {bytes} %a1, <16 x i1> %lows, <16 x i{bits}> zeroinitializer)
  %b2 = call <16 x i{bits}> @llvm.masked.load.v16i{bits}.p0(
      ptr align {bytes} %b1, <16 x i1> %highs, <16 x i{bits}> zeroinitializer)
  %rows = shufflevector <16 x i{bits}> %a2, <16 x i{bits}> %b2, <32 x i32> <{low}, {high}>
  ret <32 x i{bits}> %rows
all_over:
  %all = inttoptr <32 x i64> %at to <32 x ptr>
  %g = call <32 x i{bits}> @llvm.masked.gather.v32i{bits}.v32p0(
      <32 x ptr> align {bytes} %all, <32 x i1> %lanes, <32 x i{bits}> zeroinitializer)
  ret <32 x i{bits}> %g
}}"""


def gather_to(name: str, count: int) -> str:
    """A function that puts `count` words per lane into memory, a vector for each."""
    lines = [f"define internal void @{name}(ptr noalias %out, <32 x i64> %at, i32 %mask) noinline #0 {{"]
    for i in range(count):
        lines.append(f"  %a{i} = add <32 x i64> %at, splat (i64 {4 * i})")
        lines.append(f"  %v{i} = call <32 x i32> @gather32(<32 x i64> %a{i}, i32 %mask)")
        lines.append(f"  %p{i} = getelementptr inbounds i8, ptr %out, i64 {128 * i}")
        lines.append(f"  store <32 x i32> %v{i}, ptr %p{i}, align 64")
    return "\n".join([*lines, "  ret void", "}"])
