"""Guess and verify, counted: passes of the large model, guesses kept, and whether what is said
keeps its distribution.

    python bench/guesses.py        after trained/draft.py; two minutes on one core

The small GPT says 48 tokens after each of 40 beginnings of held-out verses, alone in the engine,
drawn at temperature 1 with a seed for each and again greedily. Who guesses: nobody, the trained
draft, the same draft untrained, or the runs of tokens before (`NgramProposer`). Counted: passes,
guesses, guesses kept, tokens that passes read. Timed, in processor seconds: both models' single
steps, and all of it beside no guesses; the median of three.

The distribution twice. `verify` itself, at places of held-out text, 20,000 draws of a guess and a
verdict against the model's p (chi-square, tokens with less than five expected put together), beside
three rules that look right. And the whole engine: the second token said after one prompt, 6,000
times, against the exact distribution of it, which sums over all first tokens.
"""

import os
import statistics
import sys
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
from scipy.stats import chisquare  # noqa: E402
from strategies import verses  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.engine.engine import Engine, EngineConfig  # noqa: E402
from reference_impl.engine.scheduler import SchedulerConfig  # noqa: E402
from reference_impl.engine.speculative import (
    Draft,
    DraftProposer,
    NgramProposer,
    Proposer,
    verify,
)  # noqa: E402
from reference_impl.generation.cache import PreallocatedCache  # noqa: E402
from reference_impl.generation.sampling_params import SamplingParams  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402

PROMPTS, GIVEN, NEW, GUESSES, RUNS, DRAWS, PLACES, SECONDS = (
    40,
    8,
    48,
    (1, 2, 3, 4, 6, 8),
    3,
    20_000,
    5,
    6_000,
)


def said_by(
    model: GPT,
    prompts: list[list[int]],
    proposer: Proposer | None,
    guesses: int,
    temperature: float,
) -> tuple[dict, list[list[int]]]:
    """All prompts, one after another: what it took, and what was said."""
    limits = SchedulerConfig(max_num_seqs=1, max_num_batched_tokens=128, max_model_len=128)
    engine = Engine(
        model,
        EngineConfig(
            16, 16, prefix_caching=False, num_speculative_tokens=guesses, scheduler=limits
        ),
        proposer=proposer,
    )
    answers, started = [], time.process_time()
    for seed, prompt in enumerate(prompts):
        params = SamplingParams(temperature=temperature, max_tokens=NEW, ignore_eos=True, seed=seed)
        answers.append(engine.generate([prompt], params)[0][0].ids)
    seconds, rows = time.process_time() - started, engine.trace.rows
    return {
        "passes": len(rows),
        "tokens": sum(map(len, answers)),
        "guessed": engine.num_drafted,
        "kept": engine.num_accepted,
        "tokens_read": sum(row["num_tokens"] for row in rows),
        "seconds": seconds,
    }, answers


def several(
    model: GPT,
    prompts: list[list[int]],
    proposer: Proposer | None,
    guesses: int,
    temperature: float,
) -> tuple[dict, list[list[int]]]:
    """The counts of one run, which are those of each, and the median of the seconds."""
    runs = [said_by(model, prompts, proposer, guesses, temperature) for _ in range(RUNS)]
    if any(run[1] != runs[0][1] for run in runs):
        raise SystemExit("the same seed said something else")
    return {
        **runs[0][0],
        "seconds": round(statistics.median(run[0]["seconds"] for run in runs), 3),
    }, runs[0][1]


@torch.inference_mode()
def step_ms(model: GPT, prompt: list[int], width: int = 1) -> float:
    """Milliseconds of a pass over so many tokens after 40 that are in the cache, the
    median of 100.
    """
    cache = [PreallocatedCache(128) for _ in model.blocks]
    model(torch.tensor([(prompt * 5)[:40]]), cache=cache)
    times = []
    for _ in range(100):
        for layer in cache:
            layer.length = 40
        started = time.process_time()
        model(torch.tensor([[7] * width]), cache=cache)
        times.append(1000 * (time.process_time() - started))
    return round(statistics.median(times), 3)


def right(p: Tensor, q: Tensor, generator: torch.Generator) -> tuple[int, bool]:
    """A guess drawn from q, and the rule."""
    guess = int(torch.multinomial(q, 1, generator=generator))
    said = verify(torch.stack([p, p]), Draft([guess], q[None]), generator)
    return said[0], len(said) == 2


def p_after_refusal(p: Tensor, q: Tensor, generator: torch.Generator) -> tuple[int, bool]:
    """A refused guess is replaced by a draw from p, and not from what is left of it."""
    guess = int(torch.multinomial(q, 1, generator=generator))
    if torch.rand((), generator=generator) * q[guess] < p[guess]:
        return guess, True
    return int(torch.multinomial(p, 1, generator=generator)), False


def likeliest_guess(p: Tensor, q: Tensor, generator: torch.Generator) -> tuple[int, bool]:
    """The draft's likeliest token, judged as if it had been drawn from q."""
    said = verify(torch.stack([p, p]), Draft([int(q.argmax())], q[None]), generator)
    return said[0], len(said) == 2


def equal_to_a_draw(p: Tensor, q: Tensor, generator: torch.Generator) -> tuple[int, bool]:
    """Draw from p, and keep the guess if it is that token.

    The distribution is right; fewer guesses are kept.
    """
    guess, own = (int(torch.multinomial(one, 1, generator=generator)) for one in (q, p))
    return own, own == guess


def p_value(counts: Tensor, p: Tensor) -> float:
    """Chi-square of so many draws against p; tokens with less than five expected are one."""
    expected = p.double() * counts.sum()
    seen, rare = counts.double(), expected < 5
    pairs = [
        torch.cat([x[~rare], x[rare].sum()[None]]) if rare.any() else x for x in (seen, expected)
    ]
    return float(
        chisquare(pairs[0].numpy(), (pairs[1] * pairs[0].sum() / pairs[1].sum()).numpy()).pvalue
    )


@torch.inference_mode()
def rules(model: GPT, draft: GPT, texts: list[list[int]]) -> dict[str, list[dict]]:
    """Each rule at each place: the share kept, what it should be, and the p-value of its draws
    against p.
    """
    found: dict[str, list[dict]] = {}
    for number, text in enumerate(texts):
        p, q = (one(torch.tensor([text]))[0, -1].softmax(-1) for one in (model, draft))
        for rule in (right, p_after_refusal, likeliest_guess, equal_to_a_draw):
            generator, counts, kept = torch.Generator().manual_seed(number), torch.zeros(len(p)), 0
            for _ in range(DRAWS):
                token, was_kept = rule(p, q, generator)
                counts[token] += 1
                kept += was_kept
            found.setdefault(rule.__name__, []).append(
                {
                    "kept": round(kept / DRAWS, 4),
                    "overlap": round(float(torch.minimum(p, q).sum()), 4),
                    "product": round(float((p * q).sum()), 4),
                    "p_value": p_value(counts, p),
                }
            )
    return found


@torch.inference_mode()
def second_token(model: GPT, draft: GPT, prompt: list[int]) -> dict:
    """What the engine says second, after a first token of its own, guessed and verified, against
    its exact distribution.
    """
    first = model(torch.tensor([prompt]))[0, -1].softmax(-1)
    after = torch.cat(
        [
            model(torch.tensor([[*prompt, token] for token in tokens]))[:, -1].softmax(-1)
            for tokens in torch.arange(len(first)).split(128)
        ]
    )
    limits = SchedulerConfig(max_num_seqs=64, max_num_batched_tokens=1024, max_model_len=32)
    engine = Engine(
        model,
        EngineConfig(256, 16, num_speculative_tokens=1, scheduler=limits),
        proposer=DraftProposer(draft),
    )
    made = [
        engine.generate([prompt], SamplingParams(max_tokens=3, ignore_eos=True, seed=seed))[0][
            0
        ].ids[1]
        for seed in range(SECONDS)
    ]
    return {
        "draws": SECONDS,
        "kept": round(engine.num_accepted / engine.num_drafted, 4),
        "p_value": p_value(torch.bincount(torch.tensor(made), minlength=len(first)), first @ after),
    }


def main() -> None:
    """Count, time, test, write bench/results/guesses.json."""
    torch.set_num_threads(1)
    kept = small_model("gpt_kjv")
    model, tokenizer, draft = kept.model, kept.tokenizer, small_model("gpt_kjv_draft").model
    torch.manual_seed(0)
    untrained = GPT(draft.config).eval()
    pairs = verses(tokenizer, PROMPTS, GIVEN)
    prompts, found = [prompt for prompt, _ in pairs], {}
    for manner, temperature in (("drawn", 1.0), ("greedy", 0.0)):
        alone, answers = several(model, prompts, None, 0, temperature)
        rows = {"nobody": alone}
        for k in GUESSES:
            rows[f"draft, {k}"], said = several(
                model, prompts, DraftProposer(draft), k, temperature
            )
            if temperature == 0 and said != answers:
                raise SystemExit("guesses changed a greedy answer")
        rows["untrained draft, 4"], _ = several(
            model, prompts, DraftProposer(untrained), 4, temperature
        )
        rows["n-grams, 4"], _ = several(model, prompts, NgramProposer(), 4, temperature)
        found[manner] = rows
        print(manner, *rows.items(), sep="\n", flush=True)
    texts = [
        [*prompt, *after][: 20 + 4 * number]
        for number, (prompt, after) in enumerate(pairs[:PLACES])
    ]
    tests, second = rules(model, draft, texts), second_token(model, draft, prompts[0])
    costs = {
        "large": step_ms(model, prompts[0]),
        "draft": step_ms(draft, prompts[0]),
        "large, by width": {width: step_ms(model, prompts[0], width) for width in (1, 2, 3, 5, 9)},
    }
    print(tests, second, costs, sep="\n")
    save(
        "guesses",
        versions=("torch", "scipy"),
        seed=0,
        prompts=PROMPTS,
        new=NEW,
        ways=found,
        rules=tests,
        draws=DRAWS,
        second=second,
        ms=costs,
    )


if __name__ == "__main__":
    main()
