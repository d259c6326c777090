"""Sets of numbers below 512, as vectors of eight words of 64 bits.

A set is eight words from a pointer on. Operations take whole vectors, for which the compiler finds what the machine has
(AVX-512 counts the bits of all words at once). A row that is shorter may be read beyond its end, if there is memory:
where it is intersected with a set that ends with it, what follows does not matter.
"""

from __future__ import annotations

from llvmlite import ir
from numba import boolean, int64, uint64
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "SET_BITS",
    "SET_WORDS",
    "any_common",
    "copy",
    "count",
    "count_common",
    "intersect",
    "mixed",
    "remove",
    "unite",
]

SET_WORDS = 8
SET_BITS = 64 * SET_WORDS
VECTOR = ir.VectorType(ir.IntType(64), SET_WORDS)
ALIGNMENT = 8  # bytes: rows begin at any word
WORD_BITS, WORD_SHIFT, HALF_WORD = 64, 6, 32


def _load(builder, start):
    return builder.load(builder.bitcast(start, VECTOR.as_pointer()), align=ALIGNMENT)


def _store(builder, vector, start):
    builder.store(vector, builder.bitcast(start, VECTOR.as_pointer()), align=ALIGNMENT)


def _repeated(builder, word):
    """A vector of which each word is this one."""
    nothing, first = ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    places = ir.Constant(ir.VectorType(ir.IntType(32), SET_WORDS), [0] * SET_WORDS)
    return builder.shuffle_vector(builder.insert_element(nothing, word, first), nothing, places)


def _common(builder, starts):
    """The intersection of sets, as a vector."""
    vector = _load(builder, starts[0])
    for start in starts[1:]:
        vector = builder.and_(vector, _load(builder, start))
    return vector


def _reduced(builder, how, vector):
    """All words of a vector in one: `add` or `or`."""
    kind = ir.FunctionType(ir.IntType(64), [VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.{how}.v{SET_WORDS}i64")
    return builder.call(function, [vector])


def _size(builder, vector):
    kind = ir.FunctionType(VECTOR, [VECTOR])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.ctpop.v{SET_WORDS}i64")
    return _reduced(builder, "add", builder.call(function, [vector]))


def _is_any(builder, vector):
    return builder.icmp_unsigned("!=", _reduced(builder, "or", vector), ir.Constant(ir.IntType(64), 0))


@intrinsic
def copy(_context, out, a):
    """Write the set a to `out`; whether it has an element."""

    def generate(_context, builder, _signature, arguments):
        vector = _load(builder, arguments[1])
        _store(builder, vector, arguments[0])
        return _is_any(builder, vector)

    return boolean(out, a), generate


@intrinsic
def intersect(_context, out, a, b):
    """Write the intersection of two sets to `out`; whether it has an element."""

    def generate(_context, builder, _signature, arguments):
        vector = _common(builder, arguments[1:])
        _store(builder, vector, arguments[0])
        return _is_any(builder, vector)

    return boolean(out, a, b), generate


@intrinsic
def remove(_context, a, x):
    """Take a number, int64, out of a set; whether it has another element.

    The whole set is written: what is read after a part of it was written waits until memory has it.
    """

    def generate(_context, builder, _signature, arguments):
        start, number = arguments
        word = builder.lshr(number, ir.Constant(number.type, WORD_SHIFT))
        bit = builder.shl(ir.Constant(number.type, 1), builder.and_(number, ir.Constant(number.type, WORD_BITS - 1)))
        places = ir.Constant(VECTOR, list(range(SET_WORDS)))
        is_there = builder.icmp_unsigned("==", places, _repeated(builder, word))
        kept = builder.select(is_there, _repeated(builder, builder.not_(bit)), ir.Constant(VECTOR, [-1] * SET_WORDS))
        vector = builder.and_(_load(builder, start), kept)
        _store(builder, vector, start)
        return _is_any(builder, vector)

    return boolean(a, x), generate


@intrinsic
def unite(_context, out, a, b):
    """Write the union of two sets to `out`; an int64 that says nothing."""

    def generate(_context, builder, _signature, arguments):
        vectors = (_load(builder, start) for start in arguments[1:])
        _store(builder, builder.or_(*vectors), arguments[0])
        return ir.Constant(ir.IntType(64), 0)

    return int64(out, a, b), generate


@intrinsic
def any_common(_context, a, b):
    """Whether two sets have an element in common."""
    return boolean(a, b), lambda _context, builder, _signature, sets: _is_any(builder, _common(builder, sets))


@intrinsic
def count(_context, a):
    """The size of a set."""
    return int64(a), lambda _context, builder, _signature, sets: _size(builder, _common(builder, sets))


@intrinsic
def count_common(_context, sets):
    """The size of the intersection of some sets, a tuple of pointers."""

    def generate(_context, builder, _signature, arguments):
        return _size(builder, _common(builder, cgutils.unpack_tuple(builder, arguments[0])))

    return int64(sets), generate


@intrinsic
def mixed(_context, a, factors, factors_2):
    """A word that stands for a set: the sum of what each word becomes by two odd random factors of its own."""

    def generate(_context, builder, _signature, arguments):
        vector, first, second = (_load(builder, start) for start in arguments)
        half = ir.Constant(VECTOR, [HALF_WORD] * SET_WORDS)
        for factor in (first, second):
            vector = builder.mul(vector, factor)
            vector = builder.xor(vector, builder.lshr(vector, half))
        return _reduced(builder, "add", vector)

    return uint64(a, factors, factors_2), generate
