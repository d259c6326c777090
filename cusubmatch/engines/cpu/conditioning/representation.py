"""What a count asks of its state, whichever way domains are kept: as sorted lists (`lists`) or as bits (`bits`).

Each function here stands for the one of that name in the modules of either kind; compiled code calls that of the state
which it is given.
"""

from __future__ import annotations

from numba.extending import overload

from cusubmatch.engines.cpu.conditioning.bits import domains as bits
from cusubmatch.engines.cpu.conditioning.bits import small_components as small_of_bits
from cusubmatch.engines.cpu.conditioning.lists import domains as lists
from cusubmatch.engines.cpu.conditioning.lists import fingerprints, marked_domains, overlaps
from cusubmatch.engines.cpu.conditioning.lists import small_components as small_of_lists

__all__ = [
    "assign",
    "candidates",
    "choices",
    "count_small",
    "domains_key",
    "mark_domains",
    "mark_row",
    "may_collide",
    "most_at_once",
    "most_waived",
    "number_of_locals",
    "overlap",
    "put_row",
    "restart",
    "restrict",
    "takes_long",
    "undo",
    "unmark_domains",
    "write_overlap",
]


def _by_state(of_lists, of_bits):
    """A decorator: a function for compiled code that is one of two, by its first argument."""

    def decorate(function):
        @overload(function, strict=False, jit_options={"nogil": True, "boundscheck": False, "error_model": "numpy"})
        def chosen(s, *_):
            return (of_bits if "rows" in s.places else of_lists).py_func

        return function

    return decorate


@_by_state(lists.restart, bits.restart)
def restart(s, pool_begin):
    """Nothing is matched: all domains are whole, all conflicts live."""


@_by_state(lists.assign, bits.assign)
def assign(s, v, x, others):
    """Match v to x and narrow the domains of `others`; False if one is empty."""


@_by_state(lists.undo, bits.undo)
def undo(s, trail_top, pool_top, matched):
    """Go back to an earlier state."""


@_by_state(lists.candidates, bits.candidates)
def candidates(s, v):
    """The candidates that v may take: a range of the store."""


@_by_state(marked_domains.mark_domains, bits.mark_domains)
def mark_domains(s, v, begin, end, others):
    """Get ready for candidates of v, a range of the store, that narrow `others`; what `unmark_domains` is given."""


@_by_state(marked_domains.unmark_domains, bits.unmark_domains)
def unmark_domains(s, marked):
    """The end of what `mark_domains` has begun."""


@_by_state(lists.choices, bits.choices)
def choices(s, w):
    """The number of candidates that w may take."""


@_by_state(overlaps.most_waived, bits.most_waived)
def most_waived(s, fewest):
    """How many conflicts between two parts are waived, at most, where all vertices have so many candidates."""


@_by_state(overlaps.may_collide, bits.may_collide)
def may_collide(s, u, w):
    """Whether two vertices in conflict can still take the same candidate."""


@_by_state(overlaps.overlap, bits.overlap)
def overlap(s, u, w):
    """The number of candidates that both u and w may take."""


@_by_state(overlaps.write_overlap, bits.write_overlap)
def write_overlap(s, u, w):
    """The candidates that both u and w may take, put into the pool: a range of the store."""


@_by_state(lists.number_of_locals, bits.number_of_locals)
def number_of_locals(s):
    """The number of local indices."""


@_by_state(lists.mark_row, bits.mark_row)
def mark_row(s, v, w, x, marks, times):
    """Add 1 to the marks that are `times` of those that x, an image of v, leaves of w."""


@_by_state(lists.put_row, bits.put_row)
def put_row(s, v, w, x, elements, size, out):
    """Put those of some elements, ascending, that x, an image of v, leaves of w into the set at a pointer."""


@_by_state(overlaps.restrict, bits.restrict)
def restrict(s, u, w):
    """Take from the domain of u what w may not take; whether anything is left."""


@_by_state(fingerprints.domains_key, bits.domains_key)
def domains_key(s, component):
    """The two words that stand for the domains of a component."""


@_by_state(small_of_lists.count_small, small_of_bits.count_small)
def count_small(s, component):
    """The count of a component of few vertices; -1 for others."""


@_by_state(small_of_lists.most_at_once, small_of_bits.most_at_once)
def most_at_once(s):
    """The number of vertices up to which `count_small` counts a component, but for some."""


@_by_state(small_of_lists.takes_long, small_of_bits.takes_long)
def takes_long(s, component):
    """Whether the count of a component of few vertices takes longer than to look it up."""
