"""Numbers of `runtime/abi.h` that compiled code needs."""

LANES = 32
FULL_MASK = 0xFFFFFFFF

# Offsets in struct Warp.
SHARED_BASE, PARAMS, SYMBOLS, CACHES, TICKS, LOCAL_BASE, TIDS = 0, 8, 16, 24, 32, 40, 48
SHARED_BYTES, WARP_INDEX, CTAID, NCTAID, EXIST, LIVE = 56, 60, 64, 76, 88, 92
NEXT_BLOCK, NEXT_MASK, REDUCED, SITE, LANE_NEXT, ARGS, RESULTS, TOTALS = 96, 104, 120, 124, 128, 256, 264, 272
IDLE, ROUNDS, ENTRY, FRAME = 280, 288, 292, 296

# enum Next
EXIT, ONE, TWO, SCATTER, EXIT_THREAD, JOINED, BARRIER = 0, 1, 2, 3, 4, 5, 6

# enum BlockFlags
BLOCK_WARP_SYNC, BLOCK_BARRIER, BLOCK_EXIT_ONLY, BLOCK_MEMBER_SLOT = 1, 2, 4, 8
BLOCK_ID_SLOT, BLOCK_COUNT_SLOT, BLOCK_BACK_EDGE, BLOCK_MEETING = 16, 32, 64, 128
BLOCK_WAITS = 256

BARRIER_KINDS = {"sync": 0, "arrive": 1, "popc": 2, "and": 3, "or": 4}

# enum Space, enum Access
SPACES = {"generic": 0, "global": 1, "shared": 2, "local": 3, "const": 4, "param": 5}
LOAD, STORE, ATOMIC, NO_ACCESS, WAIT_LOOP = 0, 1, 2, 3, 4

# enum LaunchFlags
USES_BARRIER, ORDERED, SPINS, COOPERATIVE, FLUSH_DENORMALS = 1, 2, 4, 8, 16
CHECK_ACCESS, CHECK_RACE, CHECK_INIT, SAMPLED_ONLY, REVERSED = 32, 64, 128, 256, 512
SHARES, REHEARSAL = 1024, 2048
COUNT_FORM = 0x80000000  # added to the number of a block whose counting form is wanted
REGION_FORM = 0x40000000  # … of a branch whose region is

# enum ErrorCode, by position
ERROR_NAMES = (
    "none", "out_of_bounds", "misaligned", "freed", "uninitialised", "race", "barrier_divergence", "deadlock",
    "missing_members", "instruction_budget", "wall_limit", "trap", "assert", "stack_overflow", "invalid_call",
    "illegal_instruction", "write_to_const", "invalid_free", "unsupported",
)  # fmt: skip
TRAP = ERROR_NAMES.index("trap")
RACE = ERROR_NAMES.index("race")
UNSUPPORTED = ERROR_NAMES.index("unsupported")

FUNCTION_BASE = 0x100000000000
