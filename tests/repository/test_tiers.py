"""The tiers of the tests: what is quick has each kind of test in it, and what is thorough is all the rest."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tiers import one_each, thorough

ENGINES, SHAPES, WIDTHS = ("cpu", "gpu"), ("path", "star", "clique", "cycle"), (1, 2, 32)
ALL = [
    SimpleNamespace(callspec=SimpleNamespace(params={"engine": engine, "shape": shape, "width": width}))
    for engine in ENGINES
    for shape in SHAPES
    for width in WIDTHS
]


def test_each_value_occurs_in_as_few_parameters_as_the_longest_argument_has_values():
    kept = [item.callspec.params for item in one_each(ALL)]
    assert len(kept) == len(SHAPES)
    for name, values in {"engine": ENGINES, "shape": SHAPES, "width": WIDTHS}.items():
        assert {item[name] for item in kept} == {*values}
    assert [item["engine"] for item in kept].count("gpu") == len(SHAPES) // 2


@pytest.mark.one_each
@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("second", [1, 2])
def test_the_mark_leaves_the_other_combinations_to_the_second_tier(request, first, second):
    quick = request.node.get_closest_marker("thorough") is None
    assert quick == (first == second)


@pytest.mark.parametrize(("first", "second"), [(1, 2), *thorough((1, 3))])
def test_a_parameter_can_be_thorough_by_itself(request, first, second):
    assert (request.node.get_closest_marker("thorough") is not None) == (second == 3)
