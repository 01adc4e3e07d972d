"""As a program: the report of a class with the stand-in assignment, served for decisions.

    STAND_IN_FOLDER=... python -m tests.autograder.grading.stand_in_decisions COURSE REPORT

A process of its own, since a decision forks and the tests' process has threads.
"""

import sys
from pathlib import Path


def main():
    """Print the address and serve until the end."""
    from autograder.classroom.decisions.server import DecisionServer
    from tests.autograder.grading.stand_in_worker import declare

    declare()
    with DecisionServer(Path(sys.argv[1]), Path(sys.argv[2])) as server:
        print(server.address, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
