"""Operate every control of a figure as a reader does: by mouse, by touch, or by keyboard alone.

`by_pointer` and `by_keyboard` return what is wrong, a line for each finding. What only the page
knows of itself is asked of figure_probe.js.
"""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

PROBE = Path(__file__).with_name("figure_probe.js")
SOON, LATER = 400, 8000  # milliseconds in which an effect must show, at first and the second time
MOST = 150  # stops of Tab, or controls, of one figure
CHOOSING = ("radio", "select")  # these may choose what another control changes


def ask(page, function: str, *given):
    """What the probe answers; it is put on the page with the first question."""
    if not page.evaluate("() => Boolean(window.figureProbe)"):
        page.evaluate(PROBE.read_text(encoding="utf-8"))
    return page.evaluate(
        "([name, given]) => window.figureProbe[name](...given)", [function, list(given)]
    )


@dataclass
class Round:
    """One way through the controls of a figure; the second tries what had no effect in the first.

    A control may already be what it sets, or wait for another one.
    """

    second: bool = False
    done: set = field(default_factory=set)
    idle: set = field(default_factory=set)
    found: list = field(default_factory=list)

    def again(self):
        """The second round: what had an effect is done."""
        return Round(True, self.done - self.idle, set(), self.found)

    def try_(self, page, figure, control, acts):
        """Operate a control in some ways; note whether the figure then shows something else."""
        self.done.add(control["name"])
        self.idle.add(control["name"])
        for act in acts:
            ask(page, "remember", figure, control["kind"] in CHOOSING)
            act()
            if ask(page, "changed", figure, LATER if self.second else SOON):
                self.idle.discard(control["name"])
            page.wait_for_function("() => !window.figureProbe.loading()")


def controls(page, figure: int) -> list[dict]:
    """The controls of a figure, as the probe describes them."""
    return ask(page, "controls", figure)


def by_pointer(page, figure: int, touch: bool) -> list[str]:
    """Press, move or fill in each control of a figure with the mouse or a finger."""
    round_ = _all_pressed(page, figure, touch, Round())
    round_ = _all_pressed(page, figure, touch, round_.again())
    closed = [f"{one['name']} stays disabled" for one in controls(page, figure) if _closed(one)]
    return round_.found + closed + [f"{name} changes nothing" for name in sorted(round_.idle)]


def _closed(control):
    return control["off"] and control["kind"] == "text"


def _all_pressed(page, figure, touch, round_):
    for _ in range(MOST):
        ready = [one for one in controls(page, figure) if not one["off"] and not one["checked"]]
        control = next((one for one in ready if one["name"] not in round_.done), None)
        if control is None:
            break
        at = ask(page, "aim", control["id"])
        if at["covered"]:
            round_.found.append(f"{control['name']} is covered by something else")
        x, y = at["left"] + at["width"] / 2, at["top"] + at["height"] / 2
        round_.try_(page, figure, control, [partial(_press, page, control, at, touch)])
        if control["name"] == "button Play":
            _point(page, x, y, touch)  # and pause
    return round_


def _press(page, control, at, touch):
    x, y = at["left"] + at["width"] / 2, at["top"] + at["height"] / 2
    if control["kind"] == "handle":
        (_drag_by_finger if touch else _drag)(page, x, y)
    elif control["kind"] == "select":  # the system shows its list, outside the page
        node = page.evaluate_handle("id => window.figureProbe.node(id)", control["id"])
        node.select_option(index=0 if control["share"] else 1)
    elif control["kind"] == "range":
        share = 0.15 if control["share"] > 0.5 else 0.85
        _point(page, at["left"] + at["width"] * share, y, touch)
    else:
        _point(page, x, y, touch)
    if control["kind"] == "text":
        _write(page, control["value"])


def _write(page, text):
    page.keyboard.press("Control+A")
    page.keyboard.type(other_text(text))
    page.keyboard.press("Enter")


def other_text(text: str) -> str:
    """Something else to write into a field that holds `text`, with most of its words."""
    if text.isdigit():
        return str(int(text) + 4)
    first, *others = text.split()
    return " ".join(others) if len(others) > 1 else f"{first}s"


def _point(page, x, y, touch):
    (page.touchscreen.tap if touch else page.mouse.click)(x, y)


def _drag(page, x, y):
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 16, y - 12, steps=3)
    page.mouse.up()


def _drag_by_finger(page, x, y):
    session = page.context.new_cdp_session(page)
    for kind, moved in (("touchStart", 0), ("touchMove", 1), ("touchMove", 2), ("touchEnd", None)):
        points = [] if moved is None else [{"x": x + 8 * moved, "y": y - 6 * moved}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.detach()


def by_keyboard(page, figure: int) -> list[str]:
    """Go through a figure by Tab and work each control with the keys that belong to it."""
    round_ = _all_tabbed(page, figure, Round())
    round_ = _all_tabbed(page, figure, round_.again())
    missed = [
        f"{one['name']} cannot be reached by Tab"
        for one in controls(page, figure)
        if not one["off"] and one["kind"] != "radio" and one["name"] not in round_.done
    ]
    still = [f"{name} changes nothing by its keys" for name in sorted(round_.idle)]
    return [*dict.fromkeys(round_.found + missed + still)]


def _all_tabbed(page, figure, round_):
    ask(page, "enter", figure)
    for _ in range(MOST):
        page.keyboard.press("Tab")
        node = ask(page, "focused", figure)
        if node is None:
            break
        while node is not None:  # a control may hand the focus on, as a loaded model does
            node = _work(page, figure, node, round_)
    return round_


def _work(page, figure, node, round_):
    """Work the focused control unless it is done; which other control has the focus then."""
    control = next((one for one in controls(page, figure) if one["id"] == node), None)
    name = control["name"] if control else "something in the figure"
    round_.found += [f"{name} {fault}" for fault in ask(page, "ring")]
    if control is None or control["off"] or name in round_.done:
        return None
    round_.try_(
        page, figure, control, [partial(_strike, page, control, key) for key in _keys(control)]
    )
    if name == "button Play":
        page.keyboard.press("Enter")  # and pause
    round_.found += [f"{name}, when it was used, {fault}" for fault in ask(page, "ring")]
    now = ask(page, "focused", figure)
    return now if now != node and control["kind"] != "radio" else None


def _strike(page, control, key):
    if key:
        page.keyboard.press(key)
    else:
        _write(page, control["value"])


def _keys(control):
    """The keys that a control is tried with, at least one of which is to change something."""
    kind = control["kind"]
    if kind == "radio":
        return ["ArrowRight"] * control["group"]
    if kind in ("range", "select"):
        there, back = ("ArrowDown", "ArrowUp") if kind == "select" else ("ArrowRight", "ArrowLeft")
        return [back, there] if control["share"] == 1 else [there, back]
    return {"handle": ["ArrowUp", "ArrowRight"], "text": [None]}.get(kind, ["Enter"])


def figures(page) -> list[str]:
    """The names of the figures of a page."""
    return ask(page, "figures")
