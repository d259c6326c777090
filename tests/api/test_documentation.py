"""help() of every public function is complete, and its examples print what they say."""

from __future__ import annotations

import doctest
import inspect
import sys

import pytest

import cusubmatch as csm

validate = pytest.importorskip("numpydoc.validate").validate

FUNCTIONS = {name: value for name in csm.__all__ if inspect.isfunction(value := getattr(csm, name))}
EXAMPLES = (
    FUNCTIONS
    | {"Graph": csm.Graph, "Pattern": csm.Pattern, "amlsim": csm.datasets.amlsim}
    | {name: getattr(csm.generators, name) for name in ("rmat", "kronecker", "kronecker_counts")}
)
NOT_ASKED_FOR = {"ES01"}  # a second paragraph, where the first line says all


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_lists_every_parameter_the_result_the_errors_related_functions_and_an_example(name):
    function = FUNCTIONS[name]
    documented = validate(f"{function.__module__}.{function.__qualname__}")
    assert [error for error in documented["errors"] if error[0] not in NOT_ASKED_FOR] == []
    assert "Raises\n" in documented["docstring"]
    assert "as for `" not in documented["docstring"].lower()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_related_functions_exist(name):
    related = inspect.getdoc(FUNCTIONS[name]).partition("See Also\n--------\n")[2].partition("\n\n")[0]
    named = [line.partition(" : ")[0] for line in related.splitlines() if not line.startswith(" ")]
    assert named
    assert set(named) <= set(FUNCTIONS) - {name}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_what_they_say(name):
    value = EXAMPLES[name]
    module = sys.modules[value.__module__]
    runner = doctest.DocTestRunner(verbose=False)
    tests = doctest.DocTestFinder(exclude_empty=True).find(value, name, module=module, globs=vars(module) | vars(csm))
    said: list[str] = []
    for test in tests:
        runner.run(test, out=said.append)
    assert runner.tries > 0
    assert not runner.failures, "".join(said)
