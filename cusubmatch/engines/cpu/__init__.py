"""The CPU engine: Numba."""

from cusubmatch.engines.cpu.engine import CpuEngine

__all__ = ["CpuEngine"]
