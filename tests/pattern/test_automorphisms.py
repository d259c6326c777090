"""The group of a coloured graph beside all permutations, tried one by one."""

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from cusubmatch.pattern.automorphisms import AutomorphismGroup


@st.composite
def coloured_graphs(draw):
    """(colours, codes of ordered pairs): often with vertices that may be exchanged."""
    size = draw(st.integers(1, 6))
    colours = draw(st.lists(st.sampled_from("ab"), min_size=size, max_size=size))
    kinds = st.sampled_from([(None, None), ("-", "-"), (">", "<")])
    pairs = [(pair, draw(kinds)) for pair in combinations(range(size), 2)]
    codes = {(u, w): there for (u, w), (there, _) in pairs if there}
    codes |= {(w, u): back for (u, w), (_, back) in pairs if back}
    return colours, codes


def automorphisms(colours, codes):
    """All of them, as tuples of images."""
    size = len(colours)
    pairs = list(permutations(range(size), 2))
    return [
        image
        for image in permutations(range(size))
        if all(colours[image[v]] == colours[v] for v in range(size))
        and all(codes.get((image[u], image[w])) == codes.get((u, w)) for u, w in pairs)
    ]


def check(group, elements, size):
    """Order, orbits and chain are those of the elements."""
    assert group.order == len(elements)
    assert group.orbits() == tuple(min(image[v] for image in elements) for v in range(size))
    left = elements
    for vertex, others in enumerate(group.chain(range(size))):
        assert others == sorted({image[vertex] for image in left} - {vertex})
        left = [image for image in left if image[vertex] == vertex]
    assert sorted(map(tuple, map(group.element, range(group.order)))) == sorted(elements)


@given(coloured_graphs(), st.data())
def test_a_group_and_its_stabilisers_are_the_permutations_that_keep_everything(graph, data):
    colours, codes = graph
    size, elements = len(colours), automorphisms(colours, codes)
    group = AutomorphismGroup(colours, codes)
    inside = data.draw(st.sets(st.integers(0, size - 1)))
    check(group.stabiliser(inside), [some for some in elements if {some[v] for v in inside} == inside], size)
    check(group, elements, size)
    for k in range(size):
        fixed = range(k)
        left = [image for image in elements if all(image[v] == v for v in fixed)]
        assert group.orbits(fixed) == tuple(min(image[v] for image in left) for v in range(size))
