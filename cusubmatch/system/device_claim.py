"""Who has a device for a while: a count on the host that uses it asks whoever walks there meanwhile to wait."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["claim_of_thread", "claiming"]


class _OfThread(threading.local):
    """What a count that this thread begins sets while it uses the device."""

    claim: threading.Event | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def claiming(claim: threading.Event) -> Iterator[None]:
    """Let counts that this thread begins set a claim while they use the device."""
    before, _of_thread.claim = _of_thread.claim, claim
    try:
        yield
    finally:
        _of_thread.claim = before


def claim_of_thread() -> threading.Event:
    """The claim of this thread; one that nobody looks at where there is none."""
    return _of_thread.claim or threading.Event()
