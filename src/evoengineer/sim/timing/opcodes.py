"""Which pipe of a multiprocessor each machine instruction uses (Volta to Blackwell).

The low nine bits of an instruction name its operation; the bits above them say where operands come from. The
numbers were read off ptxas's output, by compiling PTX whose instruction is known (`sass.read_code` gives the
PTX line of each).
"""

PIPES = (
    "fma", "imad", "alu", "half", "fp64", "sfu", "uniform", "tensor", "shared", "global", "local", "exchange",
    "constant", "texture", "barrier", "control",
)  # fmt: skip

LDG, STG, LDS, STS, LDL, STL, LD, ST = 0x181, 0x186, 0x184, 0x188, 0x183, 0x187, 0x180, 0x185
LDGSTS, LDSM, BAR, BRA, EXIT, CALL, RET, BRX = 0x1AE, 0x03B, 0x11D, 0x147, 0x14D, 0x144, 0x150, 0x149
DEPBAR, LDGDEPBAR, LDC, YIELD = 0x11A, 0x1AF, 0x182, 0x146
VOTES = frozenset({0x006, 0x086})  # VOTE, VOTEU
SHARED_CAS, GLOBAL_CAS = frozenset({0x18D}), frozenset({0x18B, 0x1A9})  # ATOMS.CAS; ATOM.CAS, ATOMG.CAS
GLOBAL_ATOMICS = frozenset({0x18A, 0x18E, 0x1A8})  # ATOM, RED, ATOMG
COUNT = 0xF8C  # ATOMS.POPC.INC, the one that all twelve bits tell: adds to a word the number of lanes that are there

_TABLE: dict[str, tuple[int, ...]] = {
    "fma": (0x020, 0x021, 0x022, 0x023),  # FMUL FADD FSWZADD FFMA
    "imad": (0x024, 0x025, 0x026, 0x027),  # IMAD, .WIDE, IDP, .HI
    "half": (0x030, 0x031, 0x032, 0x033, 0x034, 0x035),  # HADD2 HFMA2 HMUL2 HSET2 HSETP2
    "fp64": (0x028, 0x029, 0x02A, 0x02B),  # DMUL DADD DSETP DFMA
    "sfu": (0x100, 0x101, 0x102, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109, 0x110, 0x111, 0x112, 0x113),
    "tensor": (0x037, 0x03C, 0x03D, 0x03F),  # IMMA HMMA BMMA DMMA
    "shared": (LDS, STS, LDSM, 0x18C, COUNT, 0x18D, 0x044),  # ATOMS, ATOMS.CAS, STSM
    "global": (LDG, STG, LD, ST, LDGSTS, 0x18A, 0x18B, 0x18E, 0x1A8, 0x1A9),  # ATOM, .CAS, RED, ATOMG, .CAS
    "local": (LDL, STL),
    "exchange": (0x189, 0x1A1, 0x1C4, 0x03A, 0x1C2),  # SHFL MATCH REDUX MOVM R2UR
    "constant": (LDC, 0x119, 0x1C3, 0x0B9, 0x1AC),  # S2R S2UR ULDC LDCU (Blackwell)
    "texture": (0x160, 0x161, 0x162, 0x163, 0x164, 0x165, 0x166, 0x167, 0x168, 0x169, 0x199, 0x19A, 0x19D),
    "barrier": (BAR,),
    "control": (BRA, EXIT, CALL, RET, BRX, DEPBAR, YIELD, 0x118, 0x141, 0x142, 0x143, 0x145, 0x148, 0x14A, 0x14B,
                0x14C, 0x151, 0x15B, 0x15C, 0x15D, 0x192, 0x1AB, 0x1AF, 0x18F),
}  # fmt: skip
_PIPE_OF = {code: pipe for pipe, codes in _TABLE.items() for code in codes}


def pipe_of(operation: int) -> str:
    """The pipe of an operation (its low nine bits); plain integer and logic instructions go to the ALU."""
    known = _PIPE_OF.get(operation)
    if known is not None:
        return known
    return "uniform" if 0x080 <= operation < 0x0C0 else "alu"
