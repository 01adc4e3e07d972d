"""A model before it was adapted and after, on the same prompts: the data of the figure
before-after.

    before_after([one("before", "as it was", "gpt_kjv", stop=198), ...], ["The river"])

What the models wrote here stands in the figure before a reader loads them; then they answer in the
page.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from course.book.pages.models import page_model
from reference_impl.corpora.small_models import small_model
from reference_impl.generation.loop import generate
from reference_impl.generation.sampling_params import SamplingParams


def one(
    key: str,
    label: str,
    name: str,
    stop: int | None = None,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
    strength: bool = False,
) -> dict[str, Any]:
    """A kept model, the ids around the prompt's own, the id that ends an answer, and whether it is
    an update to be weakened.
    """
    return {
        "key": key,
        "label": label,
        "model": page_model(name),
        "before": list(before),
        "after": list(after),
        "stop": stop,
        "strength": strength,
    }


def before_after(
    models: Sequence[dict[str, Any]],
    texts: Iterable[str],
    most: int = 40,
    temperature: float = 0.7,
    marks: dict[int, str] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The figure's data: for each text what each model writes, up to `most` tokens or its end."""
    marks, texts, written = marks or {}, list(texts), {}
    for model in models:
        kept = small_model(model["model"]["name"])
        prompts = [
            [*model["before"], *kept.tokenizer.encode(text), *model["after"]] for text in texts
        ]
        stops = () if model["stop"] is None else (model["stop"],)
        params = [
            SamplingParams(
                temperature=temperature,
                top_p=0.95,
                max_tokens=most,
                seed=seed + n,
                stop_token_ids=stops,
            )
            for n in range(len(texts))
        ]
        written[model["key"]] = [
            _told(list(said.ids), model["stop"], kept.tokenizer, marks)
            for said in generate(kept.model, prompts, params)
        ]
    return {
        "models": list(models),
        "most": most,
        "temperature": temperature,
        "marks": marks,
        "examples": [
            {"text": text, "written": {key: found[n] for key, found in written.items()}}
            for n, text in enumerate(texts)
        ],
    }


def _told(
    ids: list[int], stop: int | None, tokenizer: Any, marks: dict[int, str]
) -> dict[str, Any]:
    ended = stop is not None and stop in ids
    ids = ids[: ids.index(stop)] if ended else ids
    return {"text": in_words(ids, tokenizer, marks), "tokens": len(ids), "ended": ended}


def in_words(ids: Iterable[int], tokenizer: Any, marks: dict[int, str]) -> str:
    """Ids as text; those that the tokenizer does not have by their names."""
    parts: list[str] = []
    run: list[int] = []
    for token in ids:
        if token in marks:
            parts += [tokenizer.decode(run), marks[token]]
            run = []
        else:
            run.append(token)
    return "".join([*parts, tokenizer.decode(run)])
