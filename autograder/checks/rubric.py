"""The rubric of one exercise as a student reads it: plain text for a terminal, a table for Jupyter.

The table takes its colours from the page around it, says everything in words, and marks the first stage that is
not passed with "start here": the stages are ordered so that it is the cause of the later ones.
"""
from html import escape

from autograder.checks.runner import ExerciseResult, StageResult

WORDS = {"passed": "passed", "wrong": "not yet", "error": "exception", "not_attempted": "not written yet",
         "time": "too slow", "memory": "too much memory", "killed": "ended early", "fault": "checker failed"}
CELL = "padding:.35em .8em;border:1px solid currentColor;text-align:left;vertical-align:top"
FIRST = "border-left:.4em solid currentColor;font-weight:bold"


def headline(result: ExerciseResult) -> str:
    """"01.ppmi: 3 of 4 points"."""
    return f"{result.exercise}: {result.earned:g} of {result.points:g} points"


def as_text(result: ExerciseResult, see: str = "") -> str:
    """Several lines for a terminal; the causes are indented below their stage."""
    first, width = first_failure(result), max((len(stage.name) for stage in result.stages), default=0)
    lines = [headline(result)]
    for stage in result.stages:
        mark = "   <- start here" if stage is first else ""
        lines.append(f"  {stage.name:<{width}}  {stage.earned:g}/{stage.points:g}  {WORDS[stage.status]}{mark}")
        for text in _explanation(stage, result):
            lines += [f"      {line}" for line in text.split("\n")]
    if first and see:
        lines.append(f"  Read: {page(see)}")
    return "\n".join(lines)


def as_html(result: ExerciseResult, see: str = "") -> str:
    """One table with a caption and scoped headers; nothing of the student's is markup in it."""
    first = first_failure(result)
    rows = []
    for stage in result.stages:
        cause, *rest = [escape(text) for text in _explanation(stage, result)] or [""]
        more = "".join(f"<pre style='margin:.4em 0 0;white-space:pre-wrap'>{text}</pre>" for text in rest)
        style = f"{CELL};{FIRST}" if stage is first else CELL
        here = " <em>(start here)</em>" if stage is first else ""
        rows.append(f"<tr><th scope='row' style='{style}'>{escape(stage.name)}{here}</th>"
                    f"<td style='{CELL}'>{stage.earned:g} of {stage.points:g}</td>"
                    f"<td style='{CELL}'>{WORDS[stage.status]}</td><td style='{CELL}'>{cause}{more}</td></tr>")
    heads = "".join(f"<th scope='col' style='{CELL}'>{name}</th>" for name in ("Stage", "Points", "Result", "Why"))
    link = f"<p>Read: <a href='../../_build/html/{escape(page(see))}'>{escape(page(see))}</a></p>" if first and see else ""
    return (f"<table style='border-collapse:collapse;color:inherit;background:transparent'>"
            f"<caption style='caption-side:top;text-align:left;font-weight:bold;color:inherit'>"
            f"{escape(headline(result))}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table>{link}")


def first_failure(result: ExerciseResult) -> StageResult | None:
    """The first stage that is not passed."""
    return next((stage for stage in result.stages if stage.status != "passed"), None)


def page(see: str) -> str:
    """The file of the built book: "01-static-embeddings/counting#ppmi" is in counting.html."""
    name, _, anchor = see.partition("#")
    return f"{name}.html" + (f"#{anchor}" if anchor else "")


def _explanation(stage: StageResult, result: ExerciseResult) -> list[str]:
    """Cause, misconception and numbers; said once when every stage fails for the same reason."""
    if stage.status == "passed":
        return []
    earlier = result.stages[:result.stages.index(stage)]
    if any((one.status, one.cause, one.detail) == (stage.status, stage.cause, stage.detail) for one in earlier):
        return ["As above."]
    return [text for text in (stage.cause, stage.misconception, stage.detail) if text]
