"""Components: how they are found, how each is counted, and which vertex of one is matched.

Vertices of one component are joined by pattern edges, or by conflicts of domains that have a candidate in common. The
vertex to match has the fewest candidates for each neighbour that it narrows (dom/deg; Bessiere & Regin 1996).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.conditioning.domains import Domains
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["AT_ONCE", "SHORT_STAR", "STAR", "Components", "component_functions"]

U, L = np.uint32, np.uint64
DEGREE_UNIT = 1 << 12  # candidates are divided by degrees in fractions of so much
AT_ONCE, SHORT_STAR, STAR, MATCHED = range(4)  # how a component is counted
MOST_OF_STAR = 4  # vertices, so that its count fits into 64 bits
FEW_ROWS = 8  # of a centre, which are counted in less time than the count is looked up
MOST_ROWS = 32  # of a centre with several neighbours: a longer sum is better divided among warps


class Components(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    component_of : (sh, w, store, rest) -> uint32
        The vertices that edges and possible collisions join to the first one.
    branch_vertex : (sh, w, component, touched) -> uint32
        The vertex to match.
    shape_of : (sh, w, store, component) -> shape, centre
        How a component is counted: AT_ONCE, as a star (STAR: its count is kept; SHORT_STAR) or MATCHED.
    count_apart : (sh, w, store, component) -> uint64
        The count of one vertex, or of two that are not adjacent.
    count_star : (sh, w, store, component, centre) -> uint64
        The count of a star: a sum over the candidates of its centre.
    """

    component_of: Any
    branch_vertex: Any
    shape_of: Any
    count_apart: Any
    count_star: Any


def component_functions(target: Target, domains: Domains, words: int) -> Components:
    """The functions for domains of so many words a lane."""
    cuda, WARP, FULL, lane_of, device = target.cuda, target.WARP, target.FULL, target.lane, target.device
    collide, common, row_of, warp_sum = domains.collide, domains.common, domains.row_of, domains.warp_sum
    bits = bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @device
    def component_of(sh, w, store, rest):
        reached = U(U(1) << first_of(rest))
        frontier = reached
        while frontier != U(0):
            v = first_of(frontier)
            frontier = without_first(frontier)
            new = U(sh[U(f.NEIGHBOURS + v)] & rest & U(~reached))
            others = U(sh[U(f.CONFLICTS + v)] & rest & U(~U(reached | new)))
            while others != U(0):
                u = first_of(others)
                others = without_first(others)
                if collide(sh, w, store, u, v):
                    new = U(new | U(U(1) << u))
            reached, frontier = U(reached | new), U(frontier | new)
        return reached

    @device
    def branch_vertex(sh, w, component, touched):
        rest = U(component & touched)
        has_touched = rest != U(0)
        if not has_touched:
            rest = component
        best, least = U(0), L(0xFFFFFFFFFFFFFFFF)
        while rest != U(0):
            v = first_of(rest)
            rest = without_first(rest)
            rank = L(sh[U(f.PRIORITY + v)])
            if has_touched:
                degree = U(cuda.popc(U(sh[U(f.NEIGHBOURS + v)] & component)))
                by_degree = U(U(sh[U(w + f.SIZES + v)] * U(DEGREE_UNIT)) // U(U(1) + degree))
                rank = L(rank + L(L(by_degree) * L(f.MAX_VERTICES)))
            if rank < least:
                best, least = v, rank
        return best

    @device
    def sum_over(sh, w, store, u, leaves):
        """The sum, over the candidates of u, of the products of what their rows share with the leaves' domains."""
        lane, domain, total = lane_of(), U(sh[U(w + f.DOMAINS + u)]), L(0)
        single = without_first(leaves) == U(0)
        for i in range(words):
            own = U(store[U(domain + U(U(i * WARP) + lane))])
            holders = U(cuda.ballot_sync(FULL, own != U(0)))
            while holders != U(0):
                holder = first_of(holders)
                holders = without_first(holders)
                word = U(np.int32(cuda.shfl_sync(FULL, np.int32(own), holder)))
                first = U(U(U(i * WARP) + holder) << U(5))
                while word != U(0):
                    x, rest, product = U(first + first_of(word)), leaves, L(1)
                    word = without_first(word)
                    while rest != U(0) and product != L(0):
                        v, n = first_of(rest), U(0)
                        rest = without_first(rest)
                        row, other = row_of(sh, u, v, x), U(sh[U(w + f.DOMAINS + v)])
                        for j in range(words):
                            at = U(U(j * WARP) + lane)
                            n = U(n + U(cuda.popc(U(store[U(row + at)] & store[U(other + at)]))))
                        product = L(product * L(n if single else warp_sum(n)))
                    total = L(total + product)
        return L(warp_sum(U(total))) if single else total

    @device
    def centre_of(sh, w, store, component):
        """The vertex that all others of a component are adjacent to, and nothing else joins them; many if none is."""
        rest, centre = component, U(f.MAX_VERTICES)
        while rest != U(0):
            v = first_of(rest)
            rest = without_first(rest)
            near = U(sh[U(f.NEIGHBOURS + v)] & component)
            if U(near | U(U(1) << v)) == component:
                centre = v
        rest = U(component & U(~U(U(1) << U(centre & U(31)))))
        while rest != U(0) and centre < U(f.MAX_VERTICES):
            v = first_of(rest)
            rest = without_first(rest)
            if U(sh[U(f.NEIGHBOURS + v)] & rest) != U(0):
                centre = U(f.MAX_VERTICES)
            others = U(sh[U(f.CONFLICTS + v)] & rest)
            while others != U(0):
                u = first_of(others)
                others = without_first(others)
                if collide(sh, w, store, u, v):
                    centre, others = U(f.MAX_VERTICES), U(0)
        return centre

    @device
    def count_star(sh, w, store, component, centre):
        return sum_over(sh, w, store, centre, U(component & U(~U(U(1) << centre))))

    @device
    def is_pair(sh, component):
        """Whether a component is two adjacent vertices."""
        u, rest = first_of(component), without_first(component)
        return rest != U(0) and without_first(rest) == U(0) and U(sh[U(f.NEIGHBOURS + u)] & rest) != U(0)

    @device
    def shape_of(sh, w, store, component):
        """How a component is counted: at once, as a star whose count is kept, or by matching; and a star's centre."""
        n, shape, centre, most = U(cuda.popc(component)), U(MATCHED), U(f.MAX_VERTICES), U(MOST_ROWS)
        if n <= U(2):
            u, v = first_of(component), first_of(without_first(component))
            if not is_pair(sh, component):
                shape = U(AT_ONCE)
            else:
                centre, most = v if sh[U(w + f.SIZES + v)] < sh[U(w + f.SIZES + u)] else u, U(0xFFFFFFFF)
        elif n <= U(MOST_OF_STAR):
            centre = centre_of(sh, w, store, component)
        if centre < U(f.MAX_VERTICES):
            rows = U(sh[U(w + f.SIZES + centre)])
            if rows <= U(FEW_ROWS):
                shape = U(SHORT_STAR)
            elif rows <= most:
                shape = U(STAR)
        return shape, centre

    @device
    def count_apart(sh, w, store, component):
        """The count of one vertex, or of two that are not adjacent."""
        u, rest = first_of(component), without_first(component)
        count = L(sh[U(w + f.SIZES + u)])
        if rest != U(0):
            v = first_of(rest)
            count = L(L(count * L(sh[U(w + f.SIZES + v)])) - L(common(sh, w, store, u, v)))
        return count

    return Components(component_of, branch_vertex, shape_of, count_apart, count_star)
