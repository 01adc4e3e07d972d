"""A state machine for a student's class that gives out blocks: random commands, what is right after
each, a shortest run that is not.

A run is the two sizes of the class and a list of commands. It is played in one message
(`inside(...).script`), and after each command `tables` and `num_free` are compared with a model's.
The model numbers its blocks itself; a student's number is the same block as long as the model's is
in use, and any other afterwards. When a run goes wrong, what can be left out of it is left out:
commands, then sizes. What remains is drawn.

Not here: the two models (see `models`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from autograder.checks.assertions import slips
from autograder.checks.assertions.values import shortened
from autograder.checks.protocol import CheckFailed, StudentError, inside

TRIES = 150  # runs that are played to find a shorter one
CELL = 60  # characters of one cell of the table of a run
Command = tuple
Run = tuple[int, int, list[Command]]


@dataclass
class Broken:
    """Where a run goes wrong: after how many commands, why, and how each of them looked."""

    length: int
    cause: str
    detail: str
    rows: list[tuple[str, str, str, str]]


def written(command: Command) -> str:
    """A command as a student would type it."""
    return f"{command[0]}({', '.join(repr(one) for one in command[1:])})"


class Names:
    """Which of a student's blocks is which of the model's."""

    def __init__(self, num_blocks: int):
        self.num_blocks, self.theirs = num_blocks, {}

    def keep(self, used: set[int]) -> None:
        """Forget blocks that the model no longer tells apart from others."""
        self.theirs = {ours: theirs for ours, theirs in self.theirs.items() if ours in used}

    def owner(self, block: object) -> int | None:
        """The model's block that has this number now."""
        return next((ours for ours, theirs in self.theirs.items() if theirs == block), None)


def plain_tables(value: object) -> str:
    """What is wrong with `tables` as such, or ""."""
    if type(value) is not dict:
        return "`tables` is a dictionary from the name of each sequence to the list of its blocks."
    if any(type(name) is not str for name in value):
        return "`tables` has a key that is no name of a sequence."
    if any(
        type(table) is not list or any(type(block) is not int for block in table)
        for table in value.values()
    ):
        return "Each entry of `tables` is a list of ints, the numbers of the sequence's blocks."
    return ""


def compared(names: Names, model: object, outcome: object, before: dict, command: Command) -> str:
    """The first thing that is wrong after a command, as a cause; "" when all is right."""
    theirs, free = outcome.watched["tables"], outcome.watched["num_free"]
    wrong = plain_tables(theirs)
    if wrong:
        return wrong
    if theirs.keys() != model.tables.keys():
        return (
            "`tables` has an entry for each sequence that is there, and for no other: who is freed,"
            " released or refused has none."
        )
    for name, table in model.tables.items():
        if name != command[1] and name in before and theirs[name] != before[name]:
            return model.OTHERS
    for name, table in sorted(model.tables.items(), key=lambda item: item[0] != command[1]):
        came = theirs[name]
        if len(came) != len(table):
            return model.long(name, len(came) - len(table))
        for place, (ours, block) in enumerate(zip(table, came)):
            if not 0 <= block < names.num_blocks:
                return (
                    "A number in `tables` is none of the blocks: they are numbered from 0 to"
                    " `num_blocks` - 1."
                )
            known, owner = names.theirs.get(ours), names.owner(block)
            if known is None and owner is None:
                names.theirs[ours] = block
            elif known is None:
                return model.taken(owner, name, place)
            elif known != block:
                return model.exchanged(name, place, owner)
    if type(free) is not int:
        return "`num_free` is an int: how many blocks nobody holds."
    if free != model.num_free:
        return model.counted(free - model.num_free)
    return ""


def returned(names: Names, model: object, right: object, came: object, command: Command) -> str:
    """What is wrong with what a command returned, or ""."""
    if type(right) is tuple and type(came) is list and len(came) == 2:
        slips.note(slips.LIST_FOR_TUPLE.format(f"What `{command[0]}` returned"))
        came = tuple(came)
    if type(right) is tuple:
        right = tuple(names.theirs[block] for block in right)
    return (
        "" if type(came) is type(right) and came == right else model.answered(command, right, came)
    )


def without_names(outcomes: list[tuple]) -> list[tuple]:
    """What known mistakes are compared by: blocks numbered by when they first appear, and no text
    of an exception, which is everybody's own.
    """
    order: dict[int, int] = {}

    def renamed(value: object) -> object:
        if type(value) is dict:
            return {name: renamed(table) for name, table in value.items()}
        if type(value) in (list, tuple):
            return [order.setdefault(one, len(order)) if type(one) is int else one for one in value]
        return value

    return [
        (renamed(value), raised, "", {name: renamed(one) for name, one in watched.items()})
        for value, raised, _, watched in outcomes
    ]


def scripted(student, handle: object, commands: list[Command]) -> list:
    """Play commands on an object; afterwards the record of the call is one that other solutions can
    be compared with.
    """
    outcomes = inside(handle).script(commands, watch=["tables", "num_free"])
    last = student.calls[-1]
    student.calls[-1] = replace(
        last, outcome=replace(last.outcome, value=without_names(last.outcome.value))
    )
    return outcomes


def plain(argument: object) -> object:
    """An argument without what only the model knows of a key."""
    if type(argument) is list:
        return [plain(one) for one in argument]
    return bytes(argument) if isinstance(argument, bytes) else argument


def answers(student, name: str, run: Run, beside: bool) -> list:
    """What came of each command; beside: half of them before, and half after, all of them were put
    to another object.
    """
    num_blocks, size, commands = run[0], run[1], [tuple(map(plain, command)) for command in run[2]]
    handle, half = (
        student.build(name, num_blocks, size),
        len(commands) // 2 if beside else len(commands),
    )
    outcomes = scripted(student, handle, commands[:half])
    if beside:
        scripted(student, student.build(name, num_blocks, size), commands)
        outcomes = outcomes + scripted(student, handle, commands[half:])
    return outcomes


def listed(tables: object) -> object:
    """Tables with a list for each tuple, which is a slip."""
    if type(tables) is dict and any(type(table) is tuple for table in tables.values()):
        slips.note("A value in `tables` is a tuple; a list was asked for.")
        return {
            name: list(table) if type(table) is tuple else table for name, table in tables.items()
        }
    return tables


def expected(make: Callable, run: Run, refusals: bool) -> list | None:
    """What is right for each command; None if a run asks what is never asked."""
    model = make(run[0], run[1])
    try:
        asked = [model.do(command)[0] for command in run[2]]
    except LookupError:
        return None
    return None if "refused" in asked and not refusals else asked


def play(
    student, name: str, make: Callable, run: Run, refusals: bool = False, beside: bool = False
) -> Broken | None:
    """Play a run, and say where it goes wrong; None if it does not, or if it asks what is never
    asked.
    """
    num_blocks, size, commands = run
    asked = expected(make, run, refusals)
    if asked is None:
        return None
    outcomes = answers(student, name, run, beside)
    model, names, before, rows = make(num_blocks, size), Names(num_blocks), {}, []
    for place, (command, outcome) in enumerate(zip(commands, outcomes)):
        outcome.watched["tables"] = listed(outcome.watched["tables"])
        right, used = model.do(command)
        refused = right == "refused"
        if refused and outcome.raised != "ValueError":
            wrong = model.unrefused(command, outcome.raised)
        elif not refused and outcome.raised:
            wrong = f"`{command[0]}` raised {outcome.raised}, where nothing should be refused." + (
                model.FULL if outcome.raised == "ValueError" else ""
            )
        else:
            names.keep(used)
            wrong = compared(names, model, outcome, before, command)
            if refused and wrong and "is a dictionary" not in wrong:
                wrong = (
                    "A command that is refused changes nothing: neither `tables` nor `num_free`,"
                    " nor what comes later."
                )
            if not wrong and not refused:
                wrong = returned(names, model, right, outcome.value, command)
        answer = outcome.raised or ("" if outcome.value is None else str(outcome.value)[:20])
        tables = outcome.watched["tables"]
        rows.append(
            (written(command), answer, drawn(tables), str(outcome.watched["num_free"])[:12])
        )
        if wrong:
            if any(right == "refused" for right in asked[:place]):
                wrong += " A command before it was refused: did that change something?"
            detail = (
                outcome.text
                if outcome.raised and not refused
                else f"Right would be {model.said(right)}, up to the numbers of the blocks."
            )
            return Broken(place + 1, wrong, detail, rows)
        before = {name: list(table) for name, table in tables.items()}
    return None


def drawn(tables: object) -> str:
    """Tables in a line: each sequence with its blocks, "a [3][1]"."""
    if plain_tables(tables):
        return str(tables)[:60]
    return (
        "  ".join(
            f"{name} {''.join(f'[{block}]' for block in table) or '-'}"
            for name, table in tables.items()
        )
        or "-"
    )


def picture(run: Run, broken: Broken, name: str, tried: int) -> str:
    """A run as a table of text: a line for each command, the last of which goes wrong; then who
    holds each block.
    """
    num_blocks, size, _ = run
    head = ("command", "returned", "tables", "free")
    rows = [head, *([shortened(cell, CELL) for cell in row] for row in broken.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
    lines[-1] = f"{lines[-1]}   <- here"
    count = len(broken.rows)
    return (
        f"The shortest run that goes wrong, of {tried} that were tried: {count}"
        f" command{'s' * (count != 1)} to {name}({num_blocks},"
        f" {size}).{' None of them can be left out.' if tried < TRIES else ''}\n"
        + "\n".join(f"  {line}" for line in lines)
        + (f"\n{broken.detail}" if broken.detail else "")
    )


def shorter(run: Run) -> list[Run]:
    """Runs with a little less in them, the boldest first."""
    num_blocks, size, commands = run
    last, found = len(commands) - 1, []  # the last one is where it goes wrong
    for many in sorted({last // 2, last // 4, last // 8, 1} - {0}, reverse=True):
        found += [
            (num_blocks, size, commands[: max(end - many, 0)] + commands[end:])
            for end in range(last, 0, -many)
        ]
    for place, command in enumerate(commands):
        for at, one in enumerate(command):
            if type(one) is int and at == 2 and one > 0:
                found += [
                    (
                        num_blocks,
                        size,
                        [
                            *commands[:place],
                            (*command[:at], less, *command[at + 1 :]),
                            *commands[place + 1 :],
                        ],
                    )
                    for less in sorted({0, 1, size, size + 1, one // 2, one - 1})
                    if less < one
                ]
    return found


def smaller(run: Run) -> list[Run]:
    """The same commands to fewer or to smaller blocks; or all but one to one block fewer."""
    num_blocks, size, commands = run
    found = [
        (less, size, commands)
        for less in sorted({1, 2, 3, 4, num_blocks // 2})
        if 0 < less < num_blocks
    ] + [(num_blocks, less, commands) for less in (1, 2, 3) if less < size]
    return found + [
        (num_blocks - 1, size, commands[:place] + commands[place + 1 :])
        for place in range(len(commands) - 1)
        if num_blocks > 1
    ]


def shortest(
    student, name: str, make: Callable, run: Run, broken: Broken, refusals: bool
) -> tuple[Run, Broken, int]:
    """What remains of a run that goes wrong when all is left out that can be; and how many runs
    were tried.
    """
    tried, run = 1, (run[0], run[1], run[2][: broken.length])
    while True:
        for other, alike in [
            *((one, False) for one in shorter(run)),
            *((one, True) for one in smaller(run)),
        ]:
            if tried >= TRIES:
                return run, broken, tried
            tried += 1
            found = play(student, name, make, other, refusals)
            if found and (not alike or found.cause == broken.cause):
                run, broken = (other[0], other[1], other[2][: found.length]), found
                break
        else:
            return run, broken, tried


def explore_beside(student, name: str, make: Callable, run: Run) -> None:
    """Play a run on one object while another one is used in between."""
    broken = play(student, name, make, run, beside=True)
    if broken:
        raise CheckFailed(
            f"Two objects of `{name}` are used in turns, and each has its own: keep everything in"
            " `self`, and nothing in the class or outside of it.",
            picture(run, broken, name, 1),
        )


def explore(
    student, name: str, make: Callable, runs: Sequence[Run], refusals: bool = False
) -> None:
    """Play runs; at the first that goes wrong look for the shortest one, and raise CheckFailed with
    its cause and its picture.

    ValueError for a run that no student may be asked: nothing would be judged by it.
    """
    for run in runs:
        if expected(make, run, refusals) is None:
            raise ValueError(f"{name}{run[:2]}: these commands are never asked: {run[2]}")
        try:
            broken = play(student, name, make, run, refusals)
            if broken:
                run, broken, tried = shortest(student, name, make, run, broken, refusals)
        except StudentError as error:
            if error.kind == "missing" and "has no method" in error.text:
                raise CheckFailed(
                    f"`{name}(num_blocks, block_size)` makes an object with the methods that the"
                    " statement names, and with `tables` and `num_free`.",
                    error.text,
                ) from None
            if error.kind == "unreadable" and "cannot be read" in error.text:
                raise CheckFailed(
                    f"`{name}` has the attributes `tables` and `num_free`, from the beginning on.",
                    error.text,
                ) from None
            raise
        if broken:
            raise CheckFailed(broken.cause, picture(run, broken, name, tried))
