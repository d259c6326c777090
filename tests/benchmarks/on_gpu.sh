#!/usr/bin/env bash
# The GPU's part of the tests, on a machine that has one, with cuDF and cuGraph: run from the repository's root.
# 1. the tests marked gpu, several at once, since they wait for compilers; 2. the tests of matching once more with the GPU
# engine under them; 3. compute-sanitizer on a small case, where the machine has it; 4. the benchmarks.
# Every part runs, whatever became of those before it; the exit status is 1 if any of them failed.
set -uo pipefail
failed=()

part() {  # part NAME COMMAND...
    local name=$1
    shift
    "$@" || failed+=("$name")
}

sanitized() {  # sanitized TOOL
    compute-sanitizer --tool "$1" --error-exitcode 1 --report-api-errors no python3 tests/benchmarks/sanitized.py 2>&1 |
        tail -4
}

part "tests marked gpu" python3 -m pytest -n 8 --dist worksteal -m gpu -W default --tb=short -p no:cacheprovider tests
tests="oracle properties networkx truth lsqb joins edge_cases bad_arguments dataframes examples streaming output
       decomposition induced census participation"
part "tests with the GPU engine" python3 -m pytest -n 8 --dist worksteal --engine gpu -m 'not (timed or slow or mg)' \
    -W default --tb=short -p no:cacheprovider $(for name in $tests; do find tests -name "test_$name.py"; done)
if command -v compute-sanitizer > /dev/null; then
    part memcheck sanitized memcheck
    part racecheck sanitized racecheck
else
    echo "compute-sanitizer is not here"
fi
part gpu.py python3 tests/benchmarks/gpu.py
part decomposition.py python3 tests/benchmarks/decomposition.py --engine gpu --parts counts,census
part streaming.py python3 tests/benchmarks/streaming.py
if [ "${#failed[@]}" -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
