"""The table of all attacks by family, and a small share of it."""

from dataclasses import replace

from tests.autograder.grading.attacks import (
    bombs,
    documents,
    forging,
    interpreter,
    machine,
    network,
    persistence,
    processes,
    wire,
)
from tests.autograder.grading.attacks.attack import Attack

MODULES = (forging, interpreter, machine, network, processes, bombs, wire, documents, persistence)
ATTACKS: list[Attack] = [
    replace(one, family=family)
    for module in MODULES
    for family, members in module.FAMILIES.items()
    for one in members
]
# Without walls each of these leaves this trace, and hurts nothing but what the test has laid out.
CONTROLS = {
    "reads-the-canaries": "a secret of this machine came out",
    "writes-at-the-targets": "was written",
    "visits-loopback": "was reached",
    "leaves-a-daemon": "processes",
    "writes-the-gradebook": "gradebook",
    "enters-other-roots": "points",
    "reads-the-neighbour": "points",
    "reads-the-courses-secret": "points",
}


def a_few_of_each() -> list[Attack]:
    """Two of each family that cost little; where a family has none of these, its first."""
    found = []
    for family in dict.fromkeys(one.family for one in ATTACKS):
        members = [one for one in ATTACKS if one.family == family]
        found += [one for one in members if not one.dear][:2] or members[:1]
    return found
