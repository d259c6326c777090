"""`python -m cusubmatch`: the command line, for environments whose scripts are not on the path."""

from cusubmatch.cli.app import main

main()
