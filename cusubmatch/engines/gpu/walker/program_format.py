"""The words of a program: what a plan says to the walker, and where.

A program is a header, a record for each level, and what the records refer to. Record t says how the candidates of level
t are drawn from the *slots* of that level, partial matches of levels 0 to t - 1. `program` writes it.
"""

# The header.
(
    LAST,  # the last level that is drawn: its candidates are counted or written, or complete the core of a suffix
    STRIDE,  # offsets of a relation: vertices + 1
    HUB,  # the first vertex with a bitmap
    HUBS,  # how many have one
    HUB_WORDS,  # words of a bitmap
    ASCENDING,  # whether restrictions ask for larger vertices
    BATCH,  # first candidates, or whole roots, that a warp draws at once, and
    BATCH_STEP,  # from a batch to the next: more where only a sample is searched
    WHOLE,  # whether whole roots are drawn
    ROOTS,  # how many there are
    WORDS,  # of a warp's stack
    RING_MASK,  # slots of the ring, less one
    TASK_WORDS,  # of a slot of the ring
    CAPACITY,  # rows of the output, and
    ENOUGH,  # how many of them end the launch
    COLUMNS,  # where the output columns of the levels stand; NOWHERE for none
    PER_PAIR,  # what a pair counts, where pairs are counted, and
    PER_CANDIDATE,  # what a candidate counts
    WEIGH,  # the level whose slots are first weighed; NOWHERE for none
    WEIGHED,  # the record of the level that the weights count
    VARIABLES,  # the record of a suffix's first variable; its tests, and the words of their answers; its factors
    TESTS,
    TEST_WORDS,
    FACTORS,
    FACTORS_END,
    PRIME,  # what its values are taken modulo; 0 for 2**64
    START,  # where counts are kept by tasks: the level whose slots a batch fills, and
    SHIFT,  # the logarithm of the first candidates, or whole roots, of a task
    SIZE,  # words of the program
) = range(29)
HEADER = 29

# A record.
# NEED: a first list that is shorter than this cannot serve the levels that draw from subsets of it.
# WORDWISE: whether the set may be counted by words of bitmaps.
# CARRIED: words of a slot that are copied to the next level and donated with it, prefix included.
BACKWARD_NEIGHBOURS, FORBIDDEN, INJECTIVITY, BOUNDS, MASK, REFERENCES, PREFIX, LISTS, SUMS, NEED, WORDWISE, CARRIED = (
    range(12)
)
# FIX: what to test before a vertex of this level is taken off the weight: as REFERENCES, with counts of its own.
FIX, FIX_BACKWARD_NEIGHBOURS, FIX_FORBIDDEN, FIX_BOUNDS, FIX_MASK = range(12, 17)
# With a suffix, in their place: the variables (records) and tests (numbers) that slots of this level know first; of a
# variable what is taken off it, and how many elements its choosers need at least.
MEASURED, MEASURED_END, TESTED, TESTED_END = range(12, 16)
LOSSES, LOSSES_END, LEAST = range(12, 15)
RECORD = 17

NOWHERE = 0xFFFFFFFF
LEVEL_BITS = 8  # a reference to a row: relation << 8 | level
