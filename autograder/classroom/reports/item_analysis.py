"""What in a class's verdicts speaks against a check rather than against the class; and what the
verdicts cost in time.

A behaviour is doubtful where it rejects work that is right elsewhere. Two signs, each a reason to
look and no proof:

rejects    at least TWO of those who fail it, and at least half of them, have nearly all of the
           points for everything else
reversed   who has it does worse in everything else than who has not: a discrimination (see
           report.py) further below 0 than TWO standard errors, 1 / sqrt(n - 1) each; what is nearer
           to 0 may be chance

A hard behaviour shows the first sign too: the feedback pages of the students who are named tell
which it is. Those who had not written the function yet say nothing about its checks and are left
out.
"""

from dataclasses import dataclass, field
from math import sqrt
from statistics import median

from autograder.checks.results import EARNING, Status
from autograder.grading.grade import Verdict

TWO = 2
NEARLY_ALL = 0.9  # of the points for everything else
SILENT = (Status.NOT_ATTEMPTED, Status.FAULT, "human")
STOPPED = (Status.TIME, Status.MEMORY, Status.KILLED)


@dataclass
class Doubt:
    """One behaviour to look at again: why, and the students who fail it although nearly all else is
    right.
    """

    exercise: str
    stage: str
    failed: int
    reasons: list[str] = field(default_factory=list)
    students: list[Verdict] = field(default_factory=list)


def doubts(verdicts: list[Verdict], items: list[dict]) -> list[Doubt]:
    """The doubtful behaviours, those with most named students first.

    items: as report.item_analysis gives them.
    """
    known = {(item["exercise"], item["name"]): item["discrimination"] for item in items}
    failing: dict[tuple[str, str], list[tuple[Verdict, float]]] = {}
    for verdict in verdicts:
        points = sum(result["points"] for result in verdict.results)
        earned = sum(result["earned"] for result in verdict.results)
        for result in verdict.results:
            for stage in result["stages"]:
                rest = points - stage["points"]
                if stage["status"] not in (*EARNING, *SILENT, "capped") and rest > 0:
                    failing.setdefault((result["exercise"], stage["name"]), []).append(
                        (verdict, (earned - stage["earned"]) / rest)
                    )
    found = []
    for key, failed in failing.items():
        right = [verdict for verdict, share in failed if share >= NEARLY_ALL]
        one = Doubt(*key, len(failed))
        if len(right) >= TWO and 2 * len(right) >= len(failed):
            one.students = right
            one.reasons.append(
                f"{len(right)} of the {len(failed)} who fail it have nearly all the other points."
            )
        if (known.get(key) or 0) < -TWO / sqrt(max(1, len(verdicts) - 1)) and len(failed) >= TWO:
            one.reasons.append(f"Who has it does worse elsewhere: discrimination {known[key]:.2f}.")
        if one.reasons:
            found.append(one)
    return sorted(found, key=lambda one: (-len(one.students), one.exercise, one.stage))


def cost(verdicts: list[Verdict]) -> dict:
    """Seconds of wall clock a submission (median, the slowest, sum), and where a limit ended a
    call.

    slowest: at most five (verdict, seconds). stopped: rows of exercise, behaviour, and how many
    were ended by the limit on time, by the one on memory, or otherwise killed. memory: bytes,
    median and most, of those where it is known; most_memory: at most five verdicts.
    """
    seconds = sorted((verdict.seconds for verdict in verdicts), reverse=True)
    stopped: dict[tuple[str, str], dict[str, int]] = {}
    for verdict in verdicts:
        for result in verdict.results:
            for stage in result["stages"]:
                if stage["status"] in STOPPED:
                    row = stopped.setdefault(
                        (result["exercise"], stage["name"]), dict.fromkeys(STOPPED, 0)
                    )
                    row[stage["status"]] += 1
    memory = sorted((verdict.memory for verdict in verdicts if verdict.memory), reverse=True)
    return {
        "memory": {"median": median(memory) if memory else 0, "most": memory[0] if memory else 0},
        "most_memory": [
            one for one in sorted(verdicts, key=lambda one: -one.memory)[:5] if one.memory
        ],
        "median": median(seconds) if seconds else 0.0,
        "most": seconds[0] if seconds else 0.0,
        "sum": sum(seconds),
        "twice": sum(verdict.tries > 1 for verdict in verdicts),
        "slowest": sorted(verdicts, key=lambda one: -one.seconds)[:5],
        "stopped": [
            {"exercise": exercise, "name": name, **counts}
            for (exercise, name), counts in sorted(stopped.items())
        ],
    }
