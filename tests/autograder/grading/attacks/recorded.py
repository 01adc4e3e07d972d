"""What came of every attack, as rows to keep and as a page for instructors."""

from collections.abc import Sequence
from pathlib import Path

from autograder.grading.grade import Verdict
from tests.autograder.grading.attacks.attack import Attack

PAGE = Path(__file__).with_name("README.md")
SHORT = 100  # characters of what a verdict says
HEAD = """\
# What attackers got

{attacks} hostile submissions of {families} families, answers to toy exercises, graded as a class \
by `course grade`. An attack that gets through
answers rightly, and the checks ask what cannot be guessed, so any point would show. Files, \
processes, sockets and the gradebook are looked at before and after.
Points gained by all of them together: {gained:g}. Touched outside their sandboxes: {touched}. \
The batch took {seconds:.0f} s for them all, two at a time.
Measured on {machine}, with the isolation {isolation}, {date}.

`python bench/attacks.py` attacks again and writes this page; two attacks of each family are \
tried in every run of the tests.
What this machine of yours holds, `course doctor` says.

| family | attacks | points gained | the longest, s |
| :--- | ---: | ---: | ---: |
"""
EACH = """
## Each attack

| family | attack | points before | after | the verdict says |
| :--- | :--- | ---: | ---: | :--- |
"""


def row(attack: Attack, verdicts: Sequence[Verdict], said: str) -> dict:
    """One attack's line; `said` is all that its verdict says, of which the part is kept that was
    expected.
    """
    wanted = (attack.says,) if isinstance(attack.says, str) else attack.says
    found = next((one for one in wanted if one in said), "")
    line = next((line for line in said.splitlines() if found and found in line), "")
    begin = max(0, line.find(found) + len(found) - SHORT)
    return {
        "family": attack.family,
        "attack": attack.name,
        "before": 0.0,
        "after": sum(one["earned"] for verdict in verdicts for one in verdict.results),
        "says": line[begin : begin + SHORT].strip(),
        "seconds": round(sum(one.seconds for one in verdicts), 1),
    }


def page(record: dict) -> str:
    """The record of `bench/attacks.py` in Markdown."""
    rows, families = record["attacks"], {}
    for one in rows:
        families.setdefault(one["family"], []).append(one)
    text = HEAD.format(
        attacks=len(rows),
        families=len(families),
        gained=sum(one["after"] - one["before"] for one in rows),
        touched=", ".join(record["touched"]) or "nothing",
        seconds=record["seconds"],
        machine=record["machine"],
        isolation=record["isolation"],
        date=record["date"],
    )
    text += "".join(
        f"| {family} | {len(members)} | {sum(one['after'] - one['before'] for one in members):g} | "
        f"{max(one['seconds'] for one in members)} |\n"
        for family, members in families.items()
    )
    return (
        text
        + EACH
        + "".join(
            f"| {one['family']} | {_plain(one['attack'])} | {one['before']:g} | {one['after']:g} |"
            f" {_plain(one['says'])} |\n"
            for one in rows
        )
    )


def _plain(text: str) -> str:
    """As code, so that no markup of an attacker's is any here."""
    return "`" + text.replace("`", "'").replace("|", "\u00a6") + "`"
