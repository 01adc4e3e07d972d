"""The report card: what was made, from whose parts, how well it does, and what it cannot do.

Writes report_card.json, with every number, and report_card.html, a page without scripts.
"""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from course import extras
from course.capstone.export import EXPORTED
from course.capstone.pretrain import make_model
from course.capstone.report.evaluate import Scorer
from course.capstone.settings import STAGES
from course.capstone.stages import Clock, Run
from reference_impl.corpora.cache import write_json, written_whole

QUESTIONS = (
    "What is your name?",
    "How much must I pay?",
    "What can you tell me about the moon?",
    "backwards: b o a t",
    "47+85",
    "Who wrote Hamlet?",
)
"""Asked of each stage's model through the API; the last one is beyond what any of them learned."""
CANNOT = (
    "It knows sixty topics. To any other question it gives the answer of some topic, or a mixture.",
    "It does not say that it does not know: nothing in its training does.",
    "It continues scripture and dictionary entries; it has read nothing else.",
    "Conversations beyond 128 tokens are longer than anything it was trained on.",
)
STYLE = (
    "body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #999;padding:.25rem .5rem;"
    "text-align:left}caption{text-align:left;padding:.5rem 0}"
)


def run_stage(run: Run, clock: Clock) -> None:
    """Score and question the model of each stage; write the card."""
    card = make_card(run)
    write_json(run.path("report", "report_card.json"), card)
    with written_whole(run.path("report", "report_card.html")) as temporary:
        temporary.write_text(as_page(card), encoding="utf-8")
    run.finish("report", clock)


def make_card(run: Run) -> dict[str, Any]:
    """Everything the card says, as JSON."""
    manifests = {stage: run.manifest(stage) for stage in STAGES[:-1]}
    scores, beyond = {}, {}
    for stage in EXPORTED:
        scorer = Scorer(run, run.load_weights(stage, make_model(run)))
        scores[stage] = scorer.tasks()
        if stage == "reinforce":
            beyond = scorer.beyond()
    answers, speed = _through_the_api(run)
    costs = {
        stage: {key: found[key] for key in ("wall_seconds", "cpu_seconds", "flops") if key in found}
        for stage, found in manifests.items()
    }
    for stage in ("shuffled", "hacked"):
        costs[f"controls, {stage}"] = {"flops": manifests["controls"][stage]["flops"]}
    return {
        "recipe": run.recipe.name,
        "changes": list(run.recipe.changes),
        "seed": run.seed,
        "device": run.device,
        "threads": manifests["pretrain"]["threads"],
        "versions": manifests["pretrain"]["versions"],
        "parts": run.parts.rows(),
        "parameters": manifests["pretrain"]["parameters"],
        "bits_per_byte": {stage: manifests[stage]["bits_per_byte"] for stage in EXPORTED},
        "scores": scores,
        "answers": answers,
        "reinforcement": {
            "right": manifests["reinforce"]["rewards"],
            "shuffled": manifests["controls"]["shuffled"],
            "hacked": manifests["controls"]["hacked"],
        },
        "costs": costs,
        "tokens_per_second": speed,
        "cannot": {"measured": beyond, "known": list(CANNOT)},
    }


def _through_the_api(run: Run) -> tuple[dict, dict | None]:
    """The same questions to each stage's model over HTTP, and the speed of the last one."""
    if not extras.is_there("serve"):
        return {"missing": extras.how_to_install("serve")}, None
    from course.capstone.report import serving  # fastapi and uvicorn come with an extra

    said = {}
    for stage, name in EXPORTED.items():
        with serving.serving(run.path("export", name)) as address:
            said[stage] = serving.ask(address, name, QUESTIONS)
    speed = serving.tokens_per_second(run.path("export", "ferryman"), QUESTIONS * 3)
    return {
        question: {stage: said[stage][place] for stage in EXPORTED}
        for place, question in enumerate(QUESTIONS)
    }, speed


def as_page(card: dict[str, Any]) -> str:
    """The card as an HTML page."""
    tiny = (
        "<p><strong>This is the tiny recipe, a test of the pipeline. Its model has learned almost"
        " nothing.</strong></p>"
    )
    head = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Report card</title>",
        f"<style>{STYLE}</style><h1>Report card</h1>",
        f"<p>A language model of {card['parameters']:,} parameters: recipe {_e(_recipe(card))},"
        f" seed {card['seed']}, on {_e(card['device'])} with {card['threads']} threads.</p>",
        tiny if card["recipe"] == "tiny" else "",
    ]
    sections = (_parts, _bits, _scores, _answers, _rewards, _costs, _cannot)
    return "\n".join([*head, *(section(card) for section in sections), "</html>"]) + "\n"


def _recipe(card: dict[str, Any]) -> str:
    return " with ".join(
        [card["recipe"], *([", ".join(card["changes"])] if card["changes"] else [])]
    )


def _e(value: object) -> str:
    return html.escape(str(value))


def _table(heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"<h2>{_e(heading)}</h2><table><tr>"]
    lines += [f"<th>{_e(name)}</th>" for name in columns]
    for row in rows:
        lines.append("</tr><tr>" + "".join(f"<td>{_e(cell)}</td>" for cell in row))
    return "".join(lines) + "</tr></table>"


def _share(score: dict | None) -> str:
    if score is None:
        return ""
    return f"{score['share']:.2f} [{score['low']:.2f}, {score['high']:.2f}], n = {score['asked']}"


def _parts(card: dict) -> str:
    rows = [
        (one["part"], one["chapter"], one["function"], one["whose"], one["reason"])
        for one in card["parts"]
    ]
    return _table("Parts", ("part", "chapter", "function", "own or borrowed", "why"), rows)


def _bits(card: dict) -> str:
    rows = [
        (stage, f"{bits['scripture']:.3f}", f"{bits['glosses']:.3f}")
        for stage, bits in card["bits_per_byte"].items()
    ]
    return _table("Bits per byte of held-out text", ("after", "scripture", "glosses"), rows)


def _scores(card: dict) -> str:
    stages = list(card["scores"])
    names = card["scores"][stages[-1]]
    rows = [
        (name, *(_share(card["scores"][stage].get(name)) for stage in stages)) for name in names
    ]
    heading = "Tasks: share right, with a 95 % interval"
    return _table(heading, ("task", *(f"after {stage}" for stage in stages)), rows)


def _answers(card: dict) -> str:
    heading = "The same questions to each stage, through the API"
    if "missing" in card["answers"]:
        return f"<h2>{heading}</h2><p>Not asked: {_e(card['answers']['missing'])}.</p>"
    stages = list(card["scores"])
    rows = [(asked, *(said[one] for one in stages)) for asked, said in card["answers"].items()]
    return _table(heading, ("question", *(f"after {stage}" for stage in stages)), rows)


def _rewards(card: dict) -> str:
    found, scores = card["reinforcement"], card["scores"]
    rows = [("none (before)", "", "", _share(scores["tune"]["sums"]))]
    for name, rewards, sums in (
        ("right number", found["right"], scores["reinforce"]["sums"]),
        ("right number, shuffled", found["shuffled"]["rewards"], found["shuffled"]["sums"]),
        ("short number (hacked)", found["hacked"]["rewards"], found["hacked"]["sums"]),
    ):
        first, last = rewards[0]["reward"], rewards[-1]["reward"]
        rows.append((name, f"{first:.2f}", f"{last:.2f}", _share(sums)))
    columns = ("reward", "mean in the first step", "in the last step", "sums right afterwards")
    return _table("Reinforcement and its controls", columns, rows)


def _costs(card: dict) -> str:
    rows = [
        (
            stage,
            f"{cost['wall_seconds']:.0f}" if "wall_seconds" in cost else "",
            f"{cost['cpu_seconds']:.0f}" if "cpu_seconds" in cost else "",
            f"{cost['flops']:.3g}" if "flops" in cost else "",
        )
        for stage, cost in card["costs"].items()
    ]
    columns = ("stage", "seconds", "CPU seconds", "FLOPs of training steps")
    table = _table("Costs", columns, rows)
    speed = card["tokens_per_second"]
    if speed is None:
        return table
    return table + (
        f"<p>Serving: {speed['alone']:,.0f} tokens per second one request at a time,"
        f" {speed['together']:,.0f} with {speed['requests']} together.</p>"
    )


def _cannot(card: dict) -> str:
    rows = [(name, _share(one)) for name, one in card["cannot"]["measured"].items()]
    known = "".join(f"<li>{_e(line)}</li>" for line in card["cannot"]["known"])
    heading = "What the model cannot do"
    return _table(heading, ("beyond its training", "share right"), rows) + f"<ul>{known}</ul>"
