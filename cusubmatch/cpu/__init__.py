"""The CPU engine: Numba kernels on all cores; `prepare` finds candidates, `Run` executes a plan."""

from cusubmatch.cpu.engine import METHODS, Run, choose, place, prepare

__all__ = ["METHODS", "Run", "choose", "place", "prepare"]
