"""What can be wrong with a cluster rather than with a graph or a pattern."""

from __future__ import annotations

from cusubmatch.errors import CusubmatchError

__all__ = ["ClusterError"]


class ClusterError(CusubmatchError, RuntimeError):
    """There is no cluster to work on, or it was lost; the message says what would do."""
