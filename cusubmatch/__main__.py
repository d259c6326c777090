"""`python -m cusubmatch`: the command line, for environments whose scripts are not on the path."""

from cusubmatch.cli.app import main

if __name__ == "__main__":  # not in workers, which a cluster of this process starts
    main()
