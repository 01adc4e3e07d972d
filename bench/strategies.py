"""What each way of choosing a token does to a text: diversity, repetition and surprise, on two
models.

    python bench/strategies.py gpt_kjv
        a quarter of a minute on one core; record strategies_gpt_kjv
    python bench/strategies.py smollm2
        six minutes on one core; record strategies_smollm2

Each model goes on from the beginnings of texts that it was not trained on (the small GPT), or that
are no part of any instruction (SmolLM2: editorials of a newspaper; whether it has read them is not
known). Beside its continuations stands what people wrote there. For each text: how many of its
tokens, and of its runs of four, are different ones; whether it ends in a loop; and its surprise
under the model, in bits a token at temperature 1. And for each place in people's text: how many
tokens a filter keeps there, and whether the one that people wrote is among them.

Each prompt and seed has a generator of its own. Values are kept per prompt, so that differences can
be paired.
"""

import argparse
import io
import math
import os
import statistics
import sys
import tarfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[:0] = [
    str(Path(__file__).resolve().parent / "trained"),
    str(Path(__file__).resolve().parent),
]

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.generation.beam import beam_search  # noqa: E402
from reference_impl.generation.loop import generate  # noqa: E402
from reference_impl.generation.processors import keep_min_p, keep_top_k, keep_top_p  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402

NEW, BEAMS, LONGEST_LOOP = 64, 4, 12
WAYS = {
    "greedy": {"temperature": 0.0},
    "greedy, penalty 1.2": {"temperature": 0.0, "repetition_penalty": 1.2},
    "T = 1": {},
    "T = 0.7": {"temperature": 0.7},
    "top-k 40": {"top_k": 40},
    "top-p 0.9": {"top_p": 0.9},
    "min-p 0.1": {"min_p": 0.1},
}
FILTERS = {
    "top-k 40": lambda x: keep_top_k(x, torch.full((len(x),), 40)),
    "top-p 0.9": lambda x: keep_top_p(x, torch.full((len(x),), 0.9)),
    "min-p 0.1": lambda x: keep_min_p(x, torch.full((len(x),), 0.1)),
}
SHOWN = ("We sat on the bank of the", "The bank lends money")
Pair = tuple[list[int], list[int]]


def verses(tokenizer, count: int, given: int) -> list[Pair]:
    """Beginnings of held-out scripture at the start of a verse, each with what follows; the first
    has a line feed before it.
    """
    text = split(scripture())[1]
    lines = text.splitlines()
    generator, found = torch.Generator().manual_seed(0), []
    for place in torch.randperm(len(lines) - 8, generator=generator).tolist():
        ids = tokenizer.encode("\n" + "\n".join(lines[place : place + 8]))
        found.append((ids[: given + 1], ids[given + 1 : given + 1 + NEW]))
        if len(found) == count:
            return found
    raise ValueError("too little text")


def editorials(tokenizer, count: int, given: int) -> list[Pair]:
    """Beginnings of newspaper editorials, sentences of one article put together, each with what
    follows.
    """
    with tarfile.open(next(corpora.path("sentiment").glob("*.tar.gz"))) as archive:
        content = archive.extractfile(
            "hutto_ICWSM_2014/nytEditorialSnippets_GroundTruth.txt"
        ).read()
    articles: dict[str, list[str]] = {}
    for line in io.StringIO(content.decode("utf-8", errors="replace"), newline="\n"):
        number, _, sentence = line.rstrip("\r\n").split("\t", 2)
        articles.setdefault(number.split("_")[0], []).append(sentence)
    rows = [tokenizer.encode(" ".join(sentences)).ids for sentences in articles.values()]
    rows = [ids for ids in rows if len(ids) >= given + NEW]
    return [(ids[:given], ids[given : given + NEW]) for ids in rows[:: len(rows) // count][:count]]


def different(ids: list[int], run: int) -> float:
    """The share of a text's runs of so many tokens that are different ones."""
    runs = [tuple(ids[place : place + run]) for place in range(len(ids) - run + 1)]
    return len(set(runs)) / len(runs)


def loops(ids: list[int]) -> bool:
    """Whether the last 24 tokens repeat themselves with a period of at most LONGEST_LOOP."""
    end = ids[-2 * LONGEST_LOOP :]
    return any(end[period:] == end[:-period] for period in range(1, LONGEST_LOOP + 1))


@torch.inference_mode()
def bits(model, prompts: list[list[int]], outputs: list[list[int]]) -> list[float]:
    """The surprise of each output, in bits a token; all of one length, prompts of any."""
    found = []
    for prompt, output in zip(prompts, outputs, strict=True):
        logits = model(torch.tensor([prompt + output]))[0, len(prompt) - 1 : -1].float()
        nats = torch.nn.functional.cross_entropy(logits, torch.tensor(output))
        found.append(round(float(nats) / math.log(2), 4))
    return found


def described(model, prompts: list[list[int]], seeds: list[list[list[int]]]) -> dict:
    """For each prompt the means over the seeds; `same` is the share of prompts whose texts are all
    the same one.
    """

    def each(value):
        return [
            round(statistics.fmean(column), 4)
            for column in zip(*(map(value, rows) for rows in seeds), strict=True)
        ]

    surprise = [bits(model, prompts, rows) for rows in seeds]
    return {
        "tokens": each(lambda ids: different(ids, 1)),
        "runs": each(lambda ids: different(ids, 4)),
        "loops": each(loops),
        "bits": [round(statistics.fmean(column), 4) for column in zip(*surprise, strict=True)],
        "seeds": len(seeds),
        "same": round(
            statistics.fmean(
                len({tuple(row) for row in rows}) == 1 for rows in zip(*seeds, strict=True)
            ),
            4,
        ),
    }


@torch.inference_mode()
def kept_by(model, pairs: list[Pair]) -> dict:
    """At each place of people's text: how many tokens a filter keeps, and whether people's is among
    them.
    """
    counts, missed = {name: [] for name in FILTERS}, dict.fromkeys(FILTERS, 0)
    for prompt, written in pairs:
        logits = model(torch.tensor([prompt + written]))[0, len(prompt) - 1 : -1].float()
        for name, keep in FILTERS.items():
            kept = keep(logits) > -torch.inf
            counts[name] += kept.sum(1).tolist()
            missed[name] += int((~kept[torch.arange(len(written)), torch.tensor(written)]).sum())
    total = sum(len(written) for _, written in pairs)
    return {
        name: {
            "least": min(counts[name]),
            "median": statistics.median(counts[name]),
            "most": max(counts[name]),
            "missed": round(missed[name] / total, 4),
            "places": total,
        }
        for name in FILTERS
    }


def main() -> None:
    """Continue, describe, write bench/results/strategies_MODEL.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", choices=("gpt_kjv", "smollm2"))
    small = parser.parse_args().model == "gpt_kjv"
    torch.set_num_threads(1)
    if small:
        kept = small_model("gpt_kjv")
        model, tokenizer, seeds, ends = kept.model, kept.tokenizer, 5, ()
        pairs, encode = verses(tokenizer, 40, 8), lambda text: tokenizer.encode("\n" + text)
    else:
        from reference_impl.engine.loading import load

        loaded = load()
        model, tokenizer, seeds, ends = loaded.model, loaded.tokenizer, 3, loaded.eos_ids
        pairs, encode = editorials(tokenizer, 16, 24), lambda text: tokenizer.encode(text).ids
    model.eval()
    prompts, started = [prompt for prompt, _ in pairs], time.process_time()
    # The end of a document is forbidden, so that all texts are of one length.
    bias = dict.fromkeys(ends, -math.inf)
    found = {"people": described(model, prompts, [[written for _, written in pairs]])}
    shown = {text: {} for text in SHOWN}
    for name, way in WAYS.items():
        repeats = 1 if way.get("temperature") == 0.0 else seeds
        params = [
            SamplingParams(
                max_tokens=NEW,
                seed=None if repeats == 1 else 1000 * number + seed,
                logit_bias=bias,
                **way,
            )
            for seed in range(repeats)
            for number in range(len(prompts))
        ]
        said = [one.ids for one in generate(model, prompts * repeats, params)]
        found[name] = described(
            model,
            prompts,
            [said[start : start + len(prompts)] for start in range(0, len(said), len(prompts))],
        )
        for text, output in zip(
            SHOWN,
            generate(
                model,
                [encode(text) for text in SHOWN],
                SamplingParams(max_tokens=40, seed=0, **way),
            ),
            strict=True,
        ):
            shown[text][name] = tokenizer.decode(output.ids)
        print(
            name,
            {
                key: round(statistics.fmean(found[name][key]), 3)
                for key in ("tokens", "runs", "loops", "bits")
            },
            round(time.process_time() - started),
            "s",
            flush=True,
        )
    beams = [beam_search(model, prompt, BEAMS, NEW)[0].ids for prompt in prompts]
    found[f"{BEAMS} beams"] = described(model, prompts, [beams])
    for text in SHOWN:
        shown[text][f"{BEAMS} beams"] = tokenizer.decode(
            beam_search(model, encode(text), BEAMS, 40)[0].ids
        )
    save(
        f"strategies_{'gpt_kjv' if small else 'smollm2'}",
        versions=("torch",),
        prompts=len(pairs),
        given=len(prompts[0]),
        new=NEW,
        loop={"last": 2 * LONGEST_LOOP, "longest": LONGEST_LOOP},
        cpu_seconds=round(time.process_time() - started),
        ways=found,
        kept=kept_by(model, pairs),
        shown=shown,
    )


if __name__ == "__main__":
    main()
