"""The threads that work: those that wait, for a compiler or for the work of another call, outlive a call."""

from __future__ import annotations

import threading

from cusubmatch.system.kept_threads import WAITING

__all__ = ["working_threads"]


def working_threads() -> set[threading.Thread]:
    """All of this process but those that wait."""
    return {thread for thread in threading.enumerate() if thread.name not in ("cusubmatch compiler", WAITING)}
