"""The table of PTX instructions: which function writes the code of each."""

from __future__ import annotations

from collections.abc import Callable

from evoengineer.sim.codegen import (
    bits,
    convert,
    floating,
    integer,
    memory,
    moves,
    pairs,
    sync,
    texture,
    video,
    warp,
)
from evoengineer.sim.codegen.emitter import Emitter
from evoengineer.sim.ptx.body import VIDEO_OPS
from evoengineer.sim.ptx.model import Instr

Handler = Callable[[Emitter, Instr], None]


_FLOATS = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2")


def _by_type(floats: Handler, integers: Handler) -> Handler:
    def handle(e: Emitter, instr: Instr) -> None:
        kind = instr.mods[-1]
        (floats if kind in _FLOATS else pairs.arithmetic if kind in pairs.PAIRS else integers)(e, instr)

    return handle


HANDLERS: dict[str, Handler] = {
    "add": _by_type(floating.add_sub_mul_div, integer.add_sub),
    "sub": _by_type(floating.add_sub_mul_div, integer.add_sub),
    "addc": integer.add_sub, "subc": integer.add_sub,
    "mul": _by_type(floating.add_sub_mul_div, integer.mul_mad),
    "mad": _by_type(floating.fma, integer.mul_mad), "madc": integer.mul_mad,
    "mul24": integer.mul_mad, "mad24": integer.mul_mad, "fma": floating.fma, "sad": integer.sad,
    "div": _by_type(floating.add_sub_mul_div, integer.div_rem), "rem": integer.div_rem,
    "min": _by_type(floating.min_max, integer.min_max), "max": _by_type(floating.min_max, integer.min_max),
    "neg": _by_type(floating.neg_abs, integer.neg_abs), "abs": _by_type(floating.neg_abs, integer.neg_abs),
    "copysign": floating.copysign, "testp": floating.testp,
    "rcp": floating.roots, "sqrt": floating.roots, "rsqrt": floating.roots,
    "ex2": floating.transcendental, "lg2": floating.transcendental, "sin": floating.transcendental,
    "cos": floating.transcendental, "tanh": floating.transcendental,
    "and": bits.logic, "or": bits.logic, "xor": bits.logic, "not": bits.logic, "cnot": bits.logic,
    "shl": bits.shift, "shr": bits.shift, "shf": bits.funnel, "lop3": bits.lop3, "prmt": bits.prmt,
    "popc": bits.count_bits, "clz": bits.count_bits, "brev": bits.count_bits, "bfind": bits.count_bits,
    "bfe": bits.bit_field, "bfi": bits.bit_field, "fns": bits.rare, "szext": bits.rare, "bmsk": bits.rare,
    "dp4a": bits.dot_product, "dp2a": bits.dot_product,
    "mov": moves.mov, "selp": moves.selp, "slct": moves.slct, "setp": moves.setp, "set": moves.set_,
    "cvt": convert.cvt, "cvta": memory.cvta, "isspacep": memory.isspacep,
    "ld": memory.ld, "ldu": memory.ld, "st": memory.st, "atom": sync.atom, "red": sync.atom,
    "membar": sync.fence, "fence": sync.fence, "cp": sync.copy_async, "mbarrier": sync.mbarrier,
    "prefetch": sync.nothing, "prefetchu": sync.nothing, "discard": sync.nothing, "applypriority": sync.nothing,
    "createpolicy": sync.nothing, "pmevent": sync.nothing, "griddepcontrol": sync.nothing,
    "setmaxnreg": sync.nothing,
    "shfl": warp.shfl, "vote": warp.vote, "match": warp.match_, "redux": warp.redux, "elect": warp.elect,
    "activemask": warp.activemask, "nanosleep": warp.nanosleep, "bar": warp.warp_barrier, "barrier": warp.warp_barrier,
    "mma": warp.mma, "wmma": warp.wmma, "ldmatrix": warp.ldmatrix,
    "stmatrix": warp.ldmatrix, "movmatrix": warp.movmatrix,
    "tex": texture.tex, "tld4": texture.tex, "suld": texture.surface, "sust": texture.surface,
    "txq": texture.query, "suq": texture.query, **dict.fromkeys(VIDEO_OPS, video.video),
}  # fmt: skip
