"""What every refusal of bad input must be: one error of the right class that names what is wrong and what would do."""

from __future__ import annotations

from contextlib import contextmanager

import pytest


@contextmanager
def refuses(kinds, words):
    """One error of these kinds whose message holds all the words, is short, and hides no deeper error behind it."""
    with pytest.raises(Exception) as caught:  # whatever it is, it is looked at here
        yield
    error = caught.value
    assert isinstance(error, kinds), f"{type(error).__name__}: {error}"
    missing = [word for word in (words.split() if isinstance(words, str) else words) if word not in str(error)]
    assert not missing, f"{missing} in: {error}"
    assert len(str(error)) < 500
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


def each(cases):
    """Parameters of a test out of `{name: [case, ...]}`, by name and place."""
    return [pytest.param(*case, id=f"{name} {i}") for name, some in cases.items() for i, case in enumerate(some)]
