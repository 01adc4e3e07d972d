"""Answers of a given form, SmolLM2: how often they have it without a grammar and with one, and what
the grammar had to forbid.

    python bench/formed.py        after `course download-data`; about two minutes on one core

The sixteen sentences with *bank* of `prompting.py`. The model is asked, in its chat form, for a
JSON object with two keys: which bank it is (river or money), and whether it is sure. Greedy, at
most 100 tokens: asked in words only; asked in words with an example; and with a JSON schema that
the engine keeps to. Judged by jsonschema, on the text as it is and on what stands between its first
and last brace. Then with the schema, but cut off after eight tokens.

Step by step, with the schema: how many tokens the grammar allows, how probable all these are
together to the model, and what it would have said. These answers are made without the engine, and
are the engine's.
"""

import json
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import jsonschema  # noqa: E402
import torch  # noqa: E402  (threads are set before torch starts)
from prompting import MONEY, RIVER, TESTS, Prompted  # noqa: E402
from record import save  # noqa: E402

from reference_impl.engine.engine import Engine, EngineConfig  # noqa: E402
from reference_impl.engine.scheduler import SchedulerConfig  # noqa: E402
from reference_impl.engine.sequence import Sequence  # noqa: E402
from reference_impl.engine.structured import StructuredOutput  # noqa: E402
from reference_impl.generation.cache import PreallocatedCache  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams, Structure  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"bank": {"enum": [RIVER, MONEY]}, "sure": {"type": "boolean"}},
    "required": ["bank", "sure"],
    "additionalProperties": False,
}
ASKED = (
    "Sentence: {}\nIs the bank in it one of a river or one of money? Answer with a JSON object that"
    ' has two keys: "bank", which is "river" or "money", and "sure", which is true or false.'
)
EXAMPLE = ' For example: {{"bank": "money", "sure": true}}'
MOST, CUT, TOP, SHOWN = 100, 8, 5, (0, 8)


def has_form(text: str) -> bool:
    """Whether a text is JSON of the schema."""
    try:
        jsonschema.validate(json.loads(text), SCHEMA)
    except (json.JSONDecodeError, jsonschema.ValidationError):
        return False
    return True


def within_braces(text: str) -> str:
    """From the first brace to the last, as many programs take it."""
    return text[text.find("{") : text.rfind("}") + 1] if "{" in text and "}" in text else text


def judged(texts: list[str]) -> dict:
    """How many have the form, and how many of these name the right bank."""
    found = [
        json.loads(within_braces(text)) if has_form(within_braces(text)) else None for text in texts
    ]
    right = [
        one is not None and one["bank"] == label
        for one, (_, label) in zip(found, TESTS, strict=True)
    ]
    return {
        "form": sum(map(has_form, texts)),
        "form_within_braces": sum(one is not None for one in found),
        "right": sum(right),
        "said_river": sum(one is not None and one["bank"] == RIVER for one in found),
        "said_sure": sum(one is not None and one["sure"] for one in found),
        "texts": texts,
    }


@torch.inference_mode()
def steps(
    smol: Prompted, structures: StructuredOutput, prompt: list[int], params: SamplingParams
) -> tuple[list[int], list[dict]]:
    """One answer token by token: what was allowed, and what the model thought of it."""
    sequence, cache = (
        Sequence("one", list(prompt), params),
        [PreallocatedCache(len(prompt) + MOST) for _ in smol.model.blocks],
    )
    unread, said, rows = prompt, [], []
    while len(said) < MOST and smol.end not in said:
        p = smol.model(torch.tensor([unread]), cache=cache)[0, -1].softmax(-1)
        mask = structures.allowed(sequence)
        chosen = int(p.where(mask, torch.tensor(-1.0)).argmax())
        best = p.topk(TOP)
        rows.append(
            {
                "token": smol.tokenizer.decode([chosen]),
                "p": round(float(p[chosen]), 4),
                "allowed": int(mask.sum()),
                "mass": round(float(p[mask].sum()), 6),
                "wanted": smol.tokenizer.decode([int(p.argmax())]),
                "top": [
                    {
                        "token": smol.tokenizer.decode([id]),
                        "p": round(value, 4),
                        "allowed": bool(mask[id]),
                    }
                    for value, id in zip(best.values.tolist(), best.indices.tolist(), strict=True)
                ],
            }
        )
        structures.advance(sequence, [chosen])
        said, unread = [*said, chosen], [chosen]
    structures.forget(sequence)
    return said, rows


def main() -> None:
    """Ask in four ways, walk through each answer, write bench/results/formed.json."""
    torch.set_num_threads(1)
    smol = Prompted()
    engine = Engine(
        smol.model,
        EngineConfig(
            256,
            16,
            scheduler=SchedulerConfig(
                max_num_seqs=8, max_num_batched_tokens=512, max_model_len=512
            ),
        ),
        smol.tokenizer,
        (smol.end,),
    )
    form = Structure("json_schema", json.dumps(SCHEMA))

    def answers(wording: str, most: int = MOST, structure: Structure | None = None) -> list[str]:
        prompts = [smol.ids(smol.chat(wording.format(text))) for text, _ in TESTS]
        made = engine.generate(
            prompts, SamplingParams(temperature=0.0, max_tokens=most, structure=structure)
        )
        return [each[0].text for each in made]

    found = {
        "words": judged(answers(ASKED)),
        "words and an example": judged(answers(ASKED + EXAMPLE)),
        "schema": judged(answers(ASKED, structure=form)),
        "example and schema": judged(answers(ASKED + EXAMPLE, structure=form)),
        f"schema, cut after {CUT}": judged(answers(ASKED, CUT, form)),
    }
    for name, row in found.items():
        print(
            name,
            {key: value for key, value in row.items() if key != "texts"},
            row["texts"][0],
            flush=True,
        )
    params, walked, times = SamplingParams(temperature=0.0, max_tokens=MOST, structure=form), [], []
    for number, (text, _) in enumerate(TESTS):
        said, rows = steps(smol, engine.structures, smol.ids(smol.chat(ASKED.format(text))), params)
        if (
            smol.tokenizer.decode([id for id in said if id != smol.end])
            != found["schema"]["texts"][number]
        ):
            raise SystemExit(f"{text}: step by step it is another answer")
        walked.append(rows)
    sequence = Sequence("timed", [1], params)
    for _ in range(200):
        started = time.perf_counter()
        engine.structures.allowed(sequence)
        times.append(1e6 * (time.perf_counter() - started))
    save(
        "formed",
        versions=("torch", "jsonschema"),
        seed=0,
        sentences=[text for text, _ in TESTS],
        labels=[label for _, label in TESTS],
        schema=SCHEMA,
        asked=ASKED,
        vocabulary=engine.runner.model.config.vocab_size,
        most=MOST,
        cut=CUT,
        ways=found,
        mask_microseconds=round(statistics.median(times), 1),
        steps={
            "all": sum(map(len, walked)),
            "one_allowed": sum(row["allowed"] == 1 for rows in walked for row in rows),
            "model_agrees": sum(row["token"] == row["wanted"] for rows in walked for row in rows),
            "allowed": [[row["allowed"] for row in rows] for rows in walked],
            "mass": [[row["mass"] for row in rows] for rows in walked],
        },
        shown=[{"sentence": TESTS[number][0], "steps": walked[number]} for number in SHOWN],
    )


if __name__ == "__main__":
    main()
