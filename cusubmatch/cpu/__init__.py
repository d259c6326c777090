"""The CPU engine: Numba kernels on all cores; `prepare` finds candidates, `Run` executes a plan."""

from cusubmatch.cpu.engine import DeadlinePassed, Run, prepare

__all__ = ["DeadlinePassed", "Run", "prepare"]
