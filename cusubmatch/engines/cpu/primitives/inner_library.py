"""What Numba keeps of a function that only compiled functions call: the code that is linked into them, no machine code.

Numba optimizes each function with all that it calls, and makes machine code of it. The same code is then linked into
each caller, and optimized again there. For what nothing else calls the first time is for nothing: without it compiling
takes three quarters of the time.
"""

from __future__ import annotations

from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["InnerCompiler"]


class InnerLibrary(CPUCodeLibrary):
    """The code of one function and of those that it calls, as their callers link it."""

    def _optimize_final_module(self):
        """Leave that to the callers."""

    def _finalize_final_module(self):
        """Nothing can be added any more; nor is anything given to the engine that makes machine code."""
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, _name):
        """The address of machine code: none."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        """Where Numba sets the Python objects of a function: here."""
        return self

    def set_env(self, name, environment):
        """Let the function be without Python objects: it may raise, but not print."""


class InnerCompiler(Compiler):
    """Numba's compiler, as `njit` takes it, for functions that only compiled ones call."""

    def define_pipelines(self):
        """Numba's passes, on a library of this kind."""
        self.state.library = InnerLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()
