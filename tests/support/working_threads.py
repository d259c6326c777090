"""The threads that work: those that wait, for a compiler or for the work of another call, outlive a call."""

from __future__ import annotations

import threading

from cusubmatch.system import workers
from cusubmatch.system.kept_threads import WAITING, Work, begin

__all__ = ["begin_one_after_the_other", "working_threads"]


def working_threads() -> set[threading.Thread]:
    """All of this process but those that wait."""
    return {thread for thread in threading.enumerate() if thread.name not in ("cusubmatch compiler", WAITING)}


def begin_one_after_the_other(monkeypatch) -> list[Work]:
    """Let what is worked on for a call be over, for at most 10 s, before the next begins; what has begun."""
    begun: list[Work] = []

    def begin_and_wait(work: Work) -> None:
        begun.append(work)
        begin(work)
        work.wait(10)

    monkeypatch.setattr(workers, "begin", begin_and_wait)
    monkeypatch.setattr(workers, "any_waits", lambda: True)  # none starts another
    return begun
