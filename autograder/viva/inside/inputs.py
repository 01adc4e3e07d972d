"""What a student's function does on other inputs: after a small change, and on longer ones."""

import ast

from autograder.viva.inside.change import _changed_text, _outcome, _run
from autograder.viva.inside.code import Code
from autograder.viva.inside.describing import MORE_THAN_SHOWN
from autograder.viva.inside.episodes import CAPTURE, _clarity, alike, called, copied
from autograder.viva.inside.watch import _rewritten, _traced

MOST_INPUTS = 8
MOST_CALL = 120  # characters of a call that is an option
MOST_TRIED = 4  # small changes, each on all inputs


def w2s_inputs(source: str, name: str, given: list, number: int) -> dict:
    """{"inputs": [{"call", "matters"}] of the call with this number, "more": whether there are
    others}. To be asked after w2s_changed.

    matters: [line, what changes, whether the call then gives another result]. It gives the same
    where both ways of watching say that the line never runs. Left out are changes after which two
    runs differ. One call a time: each may take as long as a call may.
    """
    code = Code(source, name, given)
    if number == 0:
        CAPTURE["inputs"] = _shown_episodes(name, code.parameters)
    inputs = CAPTURE["inputs"]
    found = []
    for text, episode in inputs[number : number + 1]:
        before, again = (_run(source, name, episode) for _ in range(2))
        if alike(before, again):
            matters = _matters(code, before, episode)
            found.append({"call": text, "matters": matters})
    return {"inputs": found, "more": number + 1 < len(inputs)}


def _shown_episodes(name: str, parameters: tuple) -> list:
    """(text, episode) of calls whose text has all their values; no two with the same text."""
    if CAPTURE["kernel"]:
        return []
    found = {}
    for episode in sorted(CAPTURE["episodes"], key=_clarity_or_none, reverse=True):
        if _clarity_or_none(episode) and len(episode) == 1 and episode[0][0] == "":
            text = called(name, episode, parameters)
            if len(text) <= MOST_CALL and not any(word in text for word in MORE_THAN_SHOWN):
                found.setdefault(text, episode)
    return list(found.items())[:MOST_INPUTS]


def _clarity_or_none(episode) -> tuple:
    return _clarity(episode) if episode and None not in episode else ()


def _matters(code: Code, before: object, episode: list) -> list:
    orders = _traced(code, episode)[0], _rewritten(code, episode)[0]
    if orders[0] != orders[1]:
        return []
    found = []
    for site, (line, label, _) in _telling_changes(code)[:MOST_TRIED]:
        if line not in orders[0]:
            found.append([line, label, False])
            continue
        text = _changed_text(code, site)
        outcomes = [_outcome(before, text, code.name, episode) for _ in range(2)]
        if outcomes[0] is not None and outcomes[0] == outcomes[1]:
            found.append([line, label, outcomes[0][0] != "same"])
    return found


def _telling_changes(code: Code) -> list:
    """(site, (line, what changes, outcome)) of changes, the likeliest to depend on the input first:
    those without effect on the recorded call, then those of and inside an `if`.
    """
    branches = [node for node in ast.walk(code.tree) if isinstance(node, ast.If)]
    inside = {line for node in branches for line in range(node.lineno, node.end_lineno + 1)}
    found = [one for one in CAPTURE["outcomes"].items() if one[1][2] != "error"]
    return sorted(found, key=lambda one: (one[1][2] != "same", one[1][0] not in inside))


# ------------------------------------------------------------------ longer inputs
def w2s_grown(source: str, name: str, given: list) -> dict:
    """{"longer": which arguments are repeated, "counts": from a line to how often it runs in the
    recorded call and with them}; nothing where no argument can be.

    Only what both ways of watching say alike is reported.
    """
    code, episode = Code(source, name, given), CAPTURE["chosen"]
    if CAPTURE["kernel"] or len(episode) != 1 or episode[0][0] or episode[0][2]:
        return {}
    before = _counts(code, episode)
    for places in _places(episode[0][1]):
        longer = copied(episode)
        args = list(longer[0][1])
        for place in places:
            args[place] = args[place] + args[place]
        longer[0][1] = tuple(args)
        try:
            after = _counts(code, longer)
        except Exception:  # the function refuses these arguments
            continue
        if before and after:
            names = ", ".join(f"`{code.parameters[place]}`" for place in places)
            return {
                "longer": f"each of {names}" if len(places) > 1 else names,
                "counts": {line: [before.get(line, 0), after.get(line, 0)] for line in before},
            }
    return {}


def _places(args: tuple) -> list:
    """Which arguments are repeated: all lists and texts of one length, the longest first."""
    lengths = {}
    for place, one in enumerate(args):
        if type(one) in (list, tuple, str) and len(one) > 1:
            lengths.setdefault(len(one), []).append(place)
    return [lengths[length] for length in sorted(lengths, reverse=True)]


def _counts(code: Code, episode: list) -> dict:
    order, order_2 = _traced(code, episode)[0], _rewritten(code, episode)[0]
    if order != order_2:
        return {}
    return {line: order.count(line) for line in sorted(code.watched)}
