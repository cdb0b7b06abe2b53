"""What a kernel leaves to the executor: the table of its effects, and where a warp keeps what both look at.

Compiled code only computes. At a load, a store, an atomic, a barrier, a shuffle it writes the operands of all lanes
into its warp's memory and returns the effect's number; the executor carries it out for the lanes in the warp's mask and
writes results into the slots of their registers. So all that interleaving, checking and counting need is in one place.
"""

from enum import IntEnum

LANES = 32


class Effect(IntEnum):
    """Kinds of effects."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    SHUFFLE = 3
    VOTE = 4
    MATCH = 5
    REDUCE = 6
    MEET = 7
    """`bar.warp.sync`: lanes of a warp wait for each other."""
    BARRIER = 8
    GRID_BARRIER = 9
    FENCE = 10
    EXIT = 11
    TRAP = 12


class Space(IntEnum):
    """Where an address points to."""

    GLOBAL = 0
    SHARED = 1
    LOCAL = 2
    GENERIC = 3


class Column(IntEnum):
    """What the table says of an effect."""

    KIND = 0
    SPACE = 1
    OPERATION = 2
    """Which atomic, shuffle, vote, ...: an index into `ATOMICS`, `SHUFFLES`, `VOTES`, `MATCHES`."""
    SIZE = 3
    """Bytes of one element."""
    COUNT = 4
    """Elements of a vector."""
    TYPE = 5
    """0 for bits and unsigned numbers, 1 for signed ones, 2 for floats."""
    TO = 6
    """Byte offset in the warp's memory of the register that gets the result, -1 for none; three more follow."""
    WIDTH = 10
    """Bytes of those registers; predicates have 1."""
    FLAG_TO = 11
    """Byte offset of the predicate that a shuffle or match also writes, -1 for none."""
    LINE = 12
    ORDER = 13
    """`Order` of a memory access or fence."""
    ALIGNED = 14
    """Whether a barrier wants whole warps."""
    PAST_L1 = 15
    """Whether a load passes the L1 by: volatile, relaxed, `.cg`, `.cv`."""


COLUMNS = len(Column) + 3


class Order(IntEnum):
    """How an access or a fence orders others."""

    WEAK = 0
    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    BOTH = 4
    BLOCK = 5
    """A fence for the block only."""


ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
SHUFFLES = ("up", "down", "bfly", "idx")
VOTES = ("ballot", "any", "all", "uni")
MATCHES = ("any", "all")

# A warp's memory, as byte offsets; the first 1024 bytes are as 32-bit numbers, one a lane where there are several.
RUNNABLE, ACTIVE, MASK, EXITED, MEMBERS = 0, 4, 8, 12, 16
"""Masks of lanes: that may run; that run; that the effect is for; that have left; that there were at the start."""
BLOCK, WARP_OF_BLOCK, PROCESSOR = 20, 32, 36
"""The block's three coordinates, the warp's number within it, the multiprocessor that the block is on."""
MEETING, AT_BARRIER, AT_GRID = 40, 44, 48
"""Masks of lanes that wait: for lanes of the warp, of the block, of the grid."""
SHARED_BASE, LOCAL_BASE = 56, 64
"""Addresses (64 bits) of the block's shared and the warp's local memory."""
COUNTERS = 128
PLACES = 128
"""The block, by rank, at which each lane stands."""
THREADS = 256
"""The lane's thread index: 32 x, 32 y, 32 z."""
WAITS_FOR = 640
"""The effect at which each lane waits for others."""
AMONG = 768
"""The lanes that it waits for, or the number of its barrier."""
ADDRESSES = 1024
OPERANDS = ADDRESSES + 8 * LANES
"""Up to eight operands of 64 bits for each lane."""
WAITING = OPERANDS + 8 * 8 * LANES
"""Three operands of each lane that waits for others of its warp."""
SLOTS = WAITING + 3 * 8 * LANES
"""Registers that live between blocks begin here."""

# What a launch tells compiled code, as 64-bit numbers.
FUEL, INSTRUCTIONS, LANE_INSTRUCTIONS, BRANCHES, DIVERGED, PARAMETERS, SHARED_BYTES = range(7)
"""Jumps backwards until the executor is to look; executed instructions of warps and of lanes; branches under a
predicate, and those at which lanes parted ways; address of the parameters; shared memory of a block."""
GRID_SHAPE, BLOCK_SHAPE, VARIABLES = 8, 11, 16
"""Three extents each; then one address for each variable of the module."""
NOTHING, TIRED = -1, -2
"""What compiled code returns when no lane may run, and when its fuel is used up."""

UNIFORM = {
    **{f"%ctaid.{axis}": ("warp", BLOCK + 4 * place) for place, axis in enumerate("xyz")},
    **{f"%ntid.{axis}": ("launch", 8 * (BLOCK_SHAPE + place)) for place, axis in enumerate("xyz")},
    **{f"%nctaid.{axis}": ("launch", 8 * (GRID_SHAPE + place)) for place, axis in enumerate("xyz")},
    "%warpid": ("warp", WARP_OF_BLOCK),
    "%smid": ("warp", PROCESSOR),
    "%clock": ("launch", 8 * INSTRUCTIONS),
    "%clock_hi": ("launch", 8 * INSTRUCTIONS + 4),
    "%clock64": ("launch", 8 * INSTRUCTIONS),
    "%globaltimer": ("launch", 8 * INSTRUCTIONS),
    "%total_smem_size": ("launch", 8 * SHARED_BYTES),
}
"""Registers that all lanes of a warp see alike, and where they lie."""
LONG = ("%clock64", "%globaltimer")
BY_LANE = {
    "%laneid": list(range(LANES)),
    "%lanemask_eq": [1 << lane for lane in range(LANES)],
    "%lanemask_lt": [(1 << lane) - 1 for lane in range(LANES)],
    "%lanemask_le": [(2 << lane) - 1 for lane in range(LANES)],
    "%lanemask_ge": [(-1 << lane) & 0xFFFFFFFF for lane in range(LANES)],
    "%lanemask_gt": [(-2 << lane) & 0xFFFFFFFF for lane in range(LANES)],
}
CONSTANT = {"WARP_SZ": LANES, "%nwarpid": 64, "%gridid": 0, **{f"%tid.{axis}": -1 for axis in "xyz"}}
