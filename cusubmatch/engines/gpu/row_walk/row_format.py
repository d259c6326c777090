"""The words of a row program: what a row plan says to the walker, and where. `row_program` writes it.

A program is a header, a record for each step, a record for each vertex in the order in which they are bound, and the
short lists that these refer to. Step t binds what stands at *level* t of a warp's stack. Vertices are numbered by when
they are bound: 0 is the one that the first step groups by. A position is a place in the arrays of `device_rows`, which
hold all lists of rows and arcs one after the other; a list is known by where its offsets begin.
"""

# The header.
(
    SIZE,  # words of the program
    STEPS,
    LAST,  # the last step
    LEAF,  # what happens there
    FLAT,  # the level whose candidates are tasks: 0, or 1 if the first step's rows come with their ranges
    CHUNK,  # tasks that a warp draws at once
    STACK_WORDS,  # of a warp
    LEVELS,  # where in a warp's stack the slots of the levels begin
    OWNERS,  # the position of the first row in the list that the first step reads
    STEP_RECORDS,
    VERTEX_RECORDS,
    COLUMNS,  # where the numbers of the pattern's vertices stand, in the order of the columns
    N_COLUMNS,
    ROW_COLUMNS,  # where the levels of the bound edges stand, in the order of the columns
    N_ROW_COLUMNS,
    SEARCHED,  # where the records of the edges that are searched for stand
    CONDITIONS,  # where the records of conditions stand
    STACK_DEPTH,  # of conditions
) = range(18)
HEADER = 18
EMIT, COUNT, WIDTHS = range(3)  # matches are written; candidates are tested and counted; ranges are measured

# A step.
ROWS, VERTICES, SCAN, CLOSE, NEIGHBOURS, ARC = range(6)
NAMES = {"rows": ROWS, "vertices": VERTICES, "scan": SCAN, "close": CLOSE, "neighbours": NEIGHBOURS, "arc": ARC}
(
    KIND,
    LIST,  # of a scan, or of neighbours
    START,  # the vertex whose rows are read
    BINDS,  # the vertex that is bound; NOTHING for none
    SOURCE,  # ends of the arc
    TARGET,
    ARCS,  # the list of arcs
    FIRST_ARC,  # where it begins
    ROWS_OF_ARC,  # the list of rows by arc
    FILTER,  # where the filter of arcs begins
    FILTER_SHIFT,
    WINDOW,  # pairs: a level, and where its two bounds stand
    WINDOW_END,
    ROW_TESTS,  # pairs: a level, and what its row is to be
    ROW_TESTS_END,
    TESTED,  # conditions
    TESTED_END,
    SEARCH,  # how many edges are searched for
    REVERSED,  # whether the arcs of a scan end at the vertex whose rows are read
    EXCLUDED,  # of the last step: vertices whose rows are taken off
    EXCLUDED_END,
    AHEAD,  # the other end of an arc that the next step asks for; NOTHING for none
    AHEAD_SOURCE,  # whether what is bound here is the arc's source
    AHEAD_FILTER,
    AHEAD_SHIFT,
) = range(25)
STEP = 25
NOTHING = 32  # more than any vertex's number
OTHER, AFTER, BEFORE = range(3)  # row tests

# A vertex: bits of the vertices that it differs from, that have lower ranks, and higher ones; the bit of its mask; and
# forbidden arcs: ARCS, the other vertex, whether the arc goes to that.
DIFFERS, ABOVE, BELOW, MASK, FORBIDDEN, FORBIDDEN_END, BOUND_AT = range(7)
VERTEX = 7
NO_MASK = 255

# An edge that is searched for: the list of its rows by arc, the level where its arc is bound, the first position of
# that list of arcs, whether positions are turned into arcs by `rows`; its window against others, in which levels are
# numbers of searched edges; and conditions, with the steps where they can be decided.
(
    OF_ARC,
    ARC_LEVEL,
    ARC_BASE,
    BY_NUMBER,
    AGAINST,
    AGAINST_END,
    ASKED,
    ASKED_END,
) = range(8)
SEARCHED_EDGE = 8

# A condition, and a column that one reads. Columns are read at a vertex, at the row of a level, or at that of an edge
# that is searched for.
CODE, CODE_END, INTS, FLOATS, LISTS, COLUMNS_READ = range(6)
CONDITION = 6
AT, OF, VALUES, VALID = range(4)
COLUMN = 4
AT_VERTEX, AT_ROW, AT_SEARCHED = range(3)
ALL_VALID = 0xFFFFFFFF

# A warp's stack: tasks that it has drawn and not begun (64-bit numbers in two words), then a header for each level.
NEXT_TASK, NEXT_TASK_HIGH, TASK_END, TASK_END_HIGH, NEXT_ROOT = range(5)
STACK_HEADER = 5
CURSOR, TOTAL, SLOTS = range(3)
LEVEL_HEADER = 3
# Fields of a slot, each as many words as a warp has lanes: what is bound, the slot of the level before, and the range
# of the step's candidates for that slot: where it begins, and how many there are up to its end.
IMAGE, POSITION, PARENT, BEGIN, UNTIL = range(5)
SLOT_FIELDS = 5

# The state of a run, 64-bit words: the count in two, chunks drawn, whether to pause, rows written, where they end if
# there was no room, warps that have work left.
SUM, SUM_HIGH, DRAWN, STOP, FILLED, VALID_ROWS, LEFT = range(7)
STATE_WORDS = 8
NO_ROWS_LOST = (1 << 64) - 1
