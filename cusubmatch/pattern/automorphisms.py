"""Automorphisms of a small labelled graph, found without listing them.

The graph is a colour per vertex and a code per ordered pair of vertices. A question such as "does an automorphism fix F
and take v to w?" is answered by individualisation and refinement (McKay & Piperno, "Practical graph isomorphism, II",
2014, section 2), after the cheap case of two vertices whose exchange is an automorphism. From the answers come the
orbits of pointwise stabilisers: all that the order of the group, and the restrictions that break it, are made of. A
12-clique or a star of 31 leaves costs milliseconds, though the star has 31! automorphisms.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice

from cusubmatch.pattern.pair_codes import PairCodes

__all__ = ["AutomorphismGroup"]


class AutomorphismGroup:
    """The automorphism group of a vertex- and pair-coloured graph of at most a few dozen vertices.

    Parameters
    ----------
    colours : sequence of hashable, length k
        What a vertex must share with its image.
    codes : mapping of (int, int) to hashable
        What an ordered pair of vertices must share with its image; None for the pairs that are left out.
    size : int, optional
        The group acts on the first `size` vertices; the others only say what belongs together, and what maps them to
        each other is left out. Default: all. The colours must keep the two kinds apart.
    """

    def __init__(
        self,
        colours: Sequence[Hashable],
        codes: Mapping[tuple[int, int], Hashable] | PairCodes,
        size: int | None = None,
        *,
        symmetric: bool = False,
    ):
        self._whole = len(colours)
        self.size = self._whole if size is None else size
        self._pairs = codes if isinstance(codes, PairCodes) else PairCodes(codes, self._whole)
        self._first = _ranks([(repr(colour),) for colour in colours])
        self._orbits: dict[frozenset, tuple[int, ...]] = {}
        self._colours: dict[frozenset, list[int]] = {}  # with some vertices fixed
        if symmetric:
            self._is_symmetric = True
            first: dict[int, int] = {}
            self._orbits[frozenset()] = tuple(first.setdefault(self._first[v], v) for v in range(self.size))

    @functools.cached_property
    def _start(self) -> list[int]:
        """The colours, refined."""
        return self._refine(self._first)

    def orbits(self, fixed: Iterable[int] = ()) -> tuple[int, ...]:
        """The smallest vertex of each vertex's orbit, under the automorphisms that fix every vertex of `fixed`."""
        fixed = frozenset(fixed)
        if fixed:  # a vertex that every automorphism leaves in place may be fixed without effect
            fixed &= self._moved
        if fixed not in self._orbits:
            symmetric = bool(fixed) and self._is_symmetric
            self._orbits[fixed] = self._orbits_without(fixed) if symmetric else self._find_orbits(fixed)
        return self._orbits[fixed]

    @functools.cached_property
    def _moved(self) -> frozenset[int]:
        """The vertices that some automorphism moves."""
        uses = Counter(self.orbits())
        return frozenset(v for v, first in enumerate(self.orbits()) if uses[first] > 1)

    @functools.cached_property
    def _is_symmetric(self) -> bool:
        """Whether any two vertices of an orbit may be exchanged, so that an orbit is mapped in all ways."""
        return all(self._transposition(first, v) for v, first in enumerate(self.orbits()) if v != first)

    def _orbits_without(self, fixed):
        """The orbits where any vertices of an orbit may be exchanged: those without the fixed vertices."""
        first: dict[int, int] = {}
        return tuple(v if v in fixed else first.setdefault(orbit, v) for v, orbit in enumerate(self.orbits()))

    def stabiliser(self, vertices: Iterable[int]) -> AutomorphismGroup:
        """The automorphisms that map a set of vertices to itself."""
        inside = frozenset(vertices)
        if self._is_symmetric:
            colours = [*self.orbits(), *(-1 - colour for colour in self._start[self.size :])]
        else:
            colours = self._start
        parts = [(colour, v in inside) for v, colour in enumerate(colours)]
        return AutomorphismGroup(parts, self._pairs, self.size, symmetric=self._is_symmetric)

    def chain(self, order: Sequence[int]) -> list[list[int]]:
        """For each vertex of `order`, the rest of its orbit once all before it are fixed (a stabiliser chain)."""
        members: list[list[int]] = []
        if self._is_symmetric:
            orbits, left = self.orbits(), defaultdict(list)
            for v, orbit in enumerate(orbits):
                left[orbit].append(v)
            for vertex in order:
                left[orbits[vertex]].remove(vertex)
                members.append(left[orbits[vertex]].copy())
            return members
        trivial = False
        for i, vertex in enumerate(order):
            if trivial:
                members.append([])
                continue
            orbits = self.orbits(order[:i])
            members.append([w for w in range(self.size) if w != vertex and orbits[w] == orbits[vertex]])
            trivial = len(set(orbits)) == self.size
        return members

    def images(self, fixed: Sequence[int], vertex: int) -> dict[int, list[int]]:
        """For each vertex of an orbit under the automorphisms that fix `fixed`, the images of one that takes it there.

        The orbit is that of `vertex`, which itself the identity leaves in place.
        """
        orbits, found = self.orbits(fixed), {vertex: list(range(self.size))}
        colours = self._individualise(self._start, sorted(fixed))
        left = self._individualise(colours, [vertex])
        for w in range(self.size):
            if w != vertex and orbits[w] == orbits[vertex]:
                image = self._transposition(vertex, w) or self._search(left, self._individualise(colours, [w]))
                found[w] = image[: self.size]
        return found

    @functools.cached_property
    def is_trivial(self) -> bool:
        """Whether the identity is the only automorphism."""
        return len(set(self.orbits())) == self.size

    @functools.cached_property
    def order(self) -> int:
        """The number of automorphisms: the product of the orbit sizes along a stabiliser chain."""
        product = 1
        for others in self.chain(range(self.size)):
            product *= len(others) + 1
        return product

    def element(self, index: int) -> list[int]:
        """The automorphism of a number below the order, as a list of images: a product of turns (Schreier, Sims)."""
        image = list(range(self.size))
        for turns in self._turns:
            index, turn = divmod(index, len(turns))
            image = [image[v] for v in turns[turn]]
        return image

    @functools.cached_property
    def _turns(self) -> list[list[list[int]]]:
        """For each vertex what takes it to each vertex of its orbit, once all before it are fixed."""
        span = range(self.size)
        return [list(self.images(span[:vertex], vertex).values()) for vertex in span]

    def form(self) -> str:
        """A text that is equal for two graphs with the same colours exactly if one is the other with vertices renamed.

        It is the least of the ways to write the graph down, vertex after vertex.
        """
        return repr((self._pairs.kinds, min(self._written(self._start))))

    def form_within(self, most: int) -> str | None:
        """The same text where it is the least of at most so many ways to write the graph down, else None."""
        ways = list(islice(self._written(self._start), most + 1))
        return None if len(ways) > most else repr((self._pairs.kinds, min(ways)))

    def _written(self, colours):
        """What the orders that individualisation and refinement lead to write down."""
        cells: dict[int, list[int]] = {}
        for v, colour in enumerate(colours):
            cells.setdefault(colour, []).append(v)
        open_cells = [(len(cell), colour) for colour, cell in cells.items() if len(cell) > 1]
        if not open_cells:
            order = sorted(range(self._whole), key=colours.__getitem__)
            yield [self._first[v] for v in order], [[self._pairs.rows[v][w] for w in order] for v in order]
            return
        representatives: list[int] = []  # of vertices that may be exchanged one is enough
        for v in cells[min(open_cells)[1]]:
            if not any(self._transposition(v, w) for w in representatives):
                representatives.append(v)
        for v in representatives:
            yield from self._written(self._individualise(colours, [v]))

    def _find_orbits(self, fixed):
        colours = self._colours_with(fixed)
        if len(set(colours[: self.size])) == self.size:
            return tuple(range(self.size))
        parent = list(range(self.size))

        def root(v):
            while parent[v] != v:
                v = parent[v]
            return v

        firsts = defaultdict(list)  # by colour, the vertices of which each has another orbit, as far as is known
        for v in range(self.size):
            for w in firsts[colours[v]] if parent[v] == v else ():
                image = self._transposition(v, w) or self._search(
                    self._individualise(colours, [v]), self._individualise(colours, [w])
                )
                if image:
                    for a, b in enumerate(image[: self.size]):
                        if a != b:
                            low, high = sorted((root(a), root(b)))
                            parent[high] = low
                    break
            if parent[v] == v:
                firsts[colours[v]].append(v)
        return tuple(root(v) for v in range(self.size))

    def _colours_with(self, fixed):
        """The colours where some vertices are fixed, from those of one vertex less that are known."""
        if not fixed:
            return self._start
        if fixed not in self._colours:
            fewer = next((fixed - {v} for v in fixed if fixed - {v} in self._colours), fixed - {max(fixed)})
            self._colours[fixed] = self._individualise(self._colours_with(fewer), fixed - fewer)
        return self._colours[fixed]

    def _transposition(self, v, w):
        """The exchange of v and w if it is an automorphism, else None."""
        for codes in (self._pairs.rows, self._pairs.columns):
            exchanged = codes[v].copy()
            exchanged[v], exchanged[w] = exchanged[w], exchanged[v]
            if exchanged != codes[w]:
                return None
        image = list(range(self._whole))
        image[v], image[w] = w, v
        return image

    def _search(self, left, right):
        """An automorphism that takes every colour class of `left` to that of `right`, as a list of images, or None."""
        if sorted(left) != sorted(right):
            return None
        cells: dict[int, list[int]] = {}
        for v, colour in enumerate(left):
            cells.setdefault(colour, []).append(v)
        open_cells = [cell for cell in cells.values() if len(cell) > 1]
        if not open_cells:
            place = {colour: v for v, colour in enumerate(right)}
            image = [place[colour] for colour in left]
            return image if self._preserves(image) else None
        v = min(open_cells, key=len)[0]
        targets = [w for w in range(self._whole) if right[w] == left[v]]
        for w in sorted(targets, key=lambda target: target != v):
            if image := self._search(self._individualise(left, [v]), self._individualise(right, [w])):
                return image
        return None

    def _preserves(self, image):
        codes, span = self._pairs.rows, range(self._whole)
        return all(codes[a][b] == codes[image[a]][image[b]] for a in span for b in span)

    def _individualise(self, colours, vertices):
        for v in vertices:
            colours = self._refine([2 * colour + (u == v) for u, colour in enumerate(colours)])
        return colours

    def _refine(self, colours):
        """The coarsest equitable refinement; equal inputs up to an automorphism give equal outputs up to it."""
        count, sizes = 0, Counter(colours)
        while count < len(sizes) < self._whole:
            count = len(sizes)
            keys = [  # a vertex that is alone in its class stays alone
                (colour, tuple(sorted([(code, colours[u]) for code, u in near])) if sizes[colour] > 1 else ())
                for colour, near in zip(colours, self._pairs.near, strict=True)
            ]
            colours = _ranks(keys)
            sizes = Counter(colours)
        return _ranks(colours)


def _ranks(keys):
    place = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return [place[key] for key in keys]
