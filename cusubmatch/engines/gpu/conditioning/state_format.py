"""Where the numbers of a count lie in shared memory: the program, which a block shares, and each warp's state.

The program says which pattern vertices are adjacent or in conflict, which is branched on first, and how large all is.
Behind it stands when the launch has to end. Then each warp has its domains (where in the store they are, and how many
candidates they have), the trail of domains that were narrowed, the images that a task has begun with, and a stack of
frames. A frame is a sum over the candidates of a vertex, inside a product over components. Numbers of 128 bits are four
words, the lowest first.
"""

from __future__ import annotations

__all__ = ["BLOCK_WORDS", "FRAME_WORDS", "MAX_VERTICES", "PROGRAM_WORDS", "TICK_BITS", "TRAIL_FIELDS"]

MAX_VERTICES = 32

# The program: of vertices, of ordered pairs the number of their relation, and single words: vertices; the vertex that
# is branched on first; local indices; where rows begin in the store; where pools begin, and words of each; words of a
# warp's state; where the trail, the given images and the frames begin in it; slots of the ring, less one; words of a
# task; buckets of the cache, less one.
NEIGHBOURS, CONFLICTS, PRIORITY, RELATIONS = 0, MAX_VERTICES, 2 * MAX_VERTICES, 3 * MAX_VERTICES
SCALARS = RELATIONS + MAX_VERTICES * MAX_VERTICES
(
    VERTICES,
    ROOT,
    LOCALS,
    ROWS,
    POOLS,
    POOL_WORDS,
    WARP_WORDS,
    TRAIL,
    GIVEN,
    FRAMES,
    RING_MASK,
    BUCKET_MASK,
) = range(SCALARS, SCALARS + 12)
PROGRAM_WORDS = SCALARS + 12
ENDS = PROGRAM_WORDS  # when the launch has to end, in ticks
BLOCK_WORDS = PROGRAM_WORDS + 1  # all that a block shares
TICK_BITS = 20  # of nanoseconds, that are left away: a tick is a millisecond

# A warp's state: where each domain is, and its size; then what the program says.
DOMAINS, SIZES, AFTER_DOMAINS = 0, MAX_VERTICES, 2 * MAX_VERTICES
TRAIL_FIELDS = 3  # vertex, former domain, former size

# A frame: the vertex, its image, the next candidate to look at and where they end; the vertices that are matched under
# it; the components that come after, if its parent's product has more; the state to go back to (the tops of the trail
# and the pool, touched vertices); where its count is kept; whether it is a tail, or lacks terms that were donated; the
# product so far, the sum so far, what the sum is multiplied by in the whole, and its key.
VERTEX, IMAGE, NEXT, END, OTHERS, REST, TRAIL_TOP, POOL_TOP, TOUCHED, PLACE, IS_TAIL, LACKS = range(12)
PRODUCT, SUM, FACTOR, KEY = 12, 16, 20, 24
FRAME_WORDS = 28
