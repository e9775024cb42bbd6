"""Random CUDA programs from a seed: each kernel is valid CUDA and, under emulate.h, valid C++.

python -m tests.fuzz.generator --seed 7 --kernels 20 > program.cu
"""

from __future__ import annotations

import argparse
import math
import random
from dataclasses import dataclass, replace

from tests.fuzz.collectives import SHARED_CELLS, SHARED_DOUBLES, SHARED_FLOATS, SHARED_WORDS, Collectives
from tests.fuzz.expressions import Array, Reach, Scope, Variable
from tests.fuzz.routines import make_routines
from tests.fuzz.scalars import F32, F64, I32, U32, U64, literal
from tests.fuzz.statements import Place, Together
from tests.fuzz.tree import Node, plain, render

BLOCKS = (
    (32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1), (1, 1, 1), (7, 1, 1), (33, 1, 1), (48, 1, 1), (16, 16, 1),
    (32, 8, 1), (8, 4, 3), (20, 5, 1), (16, 4, 1), (8, 8, 1), (4, 4, 4), (2, 16, 2), (100, 1, 1), (31, 3, 1),
    (64, 2, 2), (3, 5, 7), (1, 64, 1), (1, 1, 32), (16, 2, 3), (8, 16, 1), (12, 8, 1), (512, 1, 1), (32, 1, 4),
)  # fmt: skip
GRIDS = ((1, 1, 1), (2, 1, 1), (3, 1, 1), (5, 1, 1), (2, 2, 1), (1, 3, 1), (2, 1, 2), (1, 2, 3))
TABLES = (Array("c_u", U32, 64, "const"), Array("c_f", F32, 64, "const"), Array("g_i", I32, 64, "global"))


@dataclass(frozen=True)
class Kernel:
    """One generated kernel; `body` can be cut down, the rest stays."""

    name: str
    seed: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    functions: str
    prologue: str
    body: list[Node]

    def text(self) -> str:
        grid, block = (f"dim3({', '.join(map(str, shape))})" for shape in (self.grid, self.block))
        return "\n".join((
            f"// kernel seed {self.seed}", self.functions,
            # With bounds: calls through pointers may take all the registers there are.
            f"__global__ void __launch_bounds__({math.prod(self.block)})",
            f"{self.name}(Params p, Buffers in, Outputs out, Cells cells) {{", self.prologue,
            render(self.body), "}", "#undef SLOT4", "#undef SLOT2",
            f"static void launch_{self.name}(Params p, Buffers in, Outputs out, Cells cells) {{",
            f"    FUZZ_LAUNCH({self.name}, ({grid}), ({block}), 4096, p, in, out, cells);", "}",
        ))  # fmt: skip

    @property
    def threads(self) -> int:
        x, y, z = self.block
        i, j, k = self.grid
        return x * y * z * i * j * k


def make_kernel(seed: int, name: str = "kernel") -> Kernel:
    rng = random.Random(seed)
    block, grid = rng.choice(BLOCKS), rng.choice(GRIDS)
    tables = list(TABLES)
    functions, routines = make_routines(rng, name, tables) if rng.random() < 0.45 else ("", [])
    writer = Collectives(rng)
    shared = [SHARED_WORDS, SHARED_FLOATS, SHARED_DOUBLES, SHARED_CELLS]
    scope = Scope([Variable("acc", U32, Reach.THREAD)], tables + shared, routines)
    full = block[0] * block[1] * block[2] % 32 == 0
    mask = "0xffffffffu" if full or rng.random() < 0.4 else "live"
    place = Place(Together.BLOCK, mask, full)
    body = together_part(rng, writer, place, scope)
    tail = Place(Together.NOBODY, may_return=True)
    body += writer.sequence(tail, scope, rng.randrange(0, 4))
    body += finish(writer, scope)
    return Kernel(name, seed, block, grid, functions, prologue(rng), body)


def together_part(rng: random.Random, writer: Collectives, place: Place, scope: Scope) -> list[Node]:
    """The part in which the block is together, though threads may leave it for good."""
    body = writer.sequence(place, scope, rng.randrange(2, 7))
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        if rng.random() < 0.5:
            # Threads that exit say so first; the others go on with a smaller member mask.
            mask, leaves = writer.fresh("live"), writer.fresh("c")
            condition = writer.expressions.condition(scope, 2)
            body.append(plain(f"const bool {leaves} = {condition};\n"
                              f"const u32 {mask} = __ballot_sync({place.mask}, !{leaves});\n"
                              f"if ({leaves}) return;"))  # fmt: skip
            place = replace(place, mask=mask, full=False)
        body += writer.sequence(place, scope, rng.randrange(2, 7))
    return body


def prologue(rng: random.Random) -> str:
    """Index variables, and shared memory with defined contents."""
    if rng.random() < 0.5:
        slots = "#define SLOT4(k) (gid * 4u + (k))\n#define SLOT2(k) (gid * 2u + (k))"
    else:
        slots = "#define SLOT4(k) ((k) * total + gid)\n#define SLOT2(k) ((k) * total + gid)"
    return f"""{slots}
    __shared__ u32 sh_u[512], sh_warp[512], sh_cells[32];
    __shared__ f32 sh_f[512];
    FUZZ_DYNAMIC_SHARED(f64, dyn_d);
    const u32 tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    const u32 nt = blockDim.x * blockDim.y * blockDim.z, lin = (tz * blockDim.y + ty) * blockDim.x + tx;
    const u32 bid = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const u32 gid = bid * nt + lin, total = gridDim.x * gridDim.y * gridDim.z * nt;
    const u32 lane = lin & 31u, warp = lin >> 5, live = __ballot_sync(0xffffffffu, 1);
    u32 acc = {rng.getrandbits(32)}u;
    for (u32 i = lin; i < 512u; i += nt) {{
        sh_u[i] = i * 77u; sh_warp[i] = i; sh_f[i] = (f32)i * 0.5f; dyn_d[i] = (f64)i;
        if (i < 32u) sh_cells[i] = 5u;
    }}
    (void)total; (void)lane; (void)warp; (void)live;
    __syncthreads();"""


def finish(writer: Collectives, scope: Scope) -> list[Node]:
    """Every variable that is left flows into this thread's output slots."""
    lines = [
        f"acc = acc * 33u + {writer.word(v.name, v.kind)};" for v in scope.variables if v.kind is not F64
    ]
    lines += [f"acc ^= {writer.word(v.name, v.kind)};" for v in scope.variables if v.kind is F64]
    for array in scope.arrays:
        if array.space == "local":
            lines.append(f"acc += {writer.word(f'{array.name}[acc & {array.length - 1}u]', array.kind)};")
    lines += [
        writer.store_text(0, kind, writer.expressions.leaf(kind, scope, Reach.THREAD))
        for kind in (U64, F32, F64)
    ]
    lines.append(f"out.u[SLOT4(1u)] = {writer.value(U32, scope)};")
    lines.append("out.u[SLOT4(0u)] = acc;")
    return [plain(line) for line in lines]


def make_program(kernels: list[Kernel]) -> str:
    """A whole CUDA program that runs the kernels and prints a line of hashes for each."""
    rng = random.Random(99)
    table = ", ".join(literal(rng, U32) for _ in range(64))
    floats = ", ".join(f"{rng.uniform(-4, 4):.4f}f" for _ in range(64))
    numbers = ", ".join(str(rng.randrange(-1000, 1000)) for _ in range(64))
    cases = "\n".join(f'    {{"{k.name}", launch_{k.name}, {k.threads}u, {k.seed}ull}},' for k in kernels)
    texts = "\n\n".join(kernel.text() for kernel in kernels)
    return f"""#include "harness.h"

__constant__ u32 c_u[64] = {{{table}}};
__constant__ f32 c_f[64] = {{{floats}}};
__device__ i32 g_i[64] = {{{numbers}}};

{texts}

static const Case cases[] = {{
{cases}
}};

int main(int argc, char** argv) {{
    return fuzz::main_program(argc, argv, cases, {len(kernels)});
}}
"""


def kernels_from(seed: int, count: int) -> list[Kernel]:
    """`count` kernels with consecutive seeds from `seed`."""
    return [make_kernel(seed + i, f"k{seed + i}") for i in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", type=int, default=20)
    options = parser.parse_args()
    print(make_program(kernels_from(options.seed, options.kernels)))


if __name__ == "__main__":
    main()
