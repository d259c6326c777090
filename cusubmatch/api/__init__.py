"""The public functions: each checks its arguments, has them carried out by `execution` and returns a result."""
