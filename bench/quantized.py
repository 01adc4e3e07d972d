"""What fewer bits for the weights cost: MiniLM in search and on word pairs, and the small LLaMA in
bits a byte.

    python bench/quantized.py [--draw N | --llama]
        about two and a half minutes a draw on one core

Every matrix is rounded to a type of block and read back, tables of words and positions too; norms
and biases stay float32. Then the model runs in float32 as before, so what is measured is the
rounding alone. Types are GGUF's (`weights/gguf_quantizing.py`), and for comparison symmetric whole
numbers of b bits with one float16 scale for 32 numbers, for a row, or for a matrix; and Q4_0 in one
kind of matrix alone. Rows of the two models are no multiple of 256, as a file in a K type would
ask. Here such a matrix is cut into blocks as if it were one long row: that measures the type, and
no GGUF file may do it.

MiniLM ranks a thousand words for each of the definitions of `search_words.py`, the same draws, mean
pooling; and its cosines of single words are held against people's in WordSim-353. The LLaMA
(`bench/trained/llama.py`) reads the held-out scripture. With --draw one draw is made and merged
into the record, with --llama the LLaMA's rows.
"""

import argparse
import copy
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402
from search_words import common_definitions, drawn, pooled  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.embeddings.evaluation import cosine_similarity, spearman  # noqa: E402
from reference_impl.measure.retrieval import retrieval_scores  # noqa: E402
from reference_impl.models.pooling import search  # noqa: E402
from reference_impl.weights.gguf_quantizing import bits_a_number, through  # noqa: E402

DRAWS = 3
Kind = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], float]]
"""What becomes of a matrix, and the bytes that it then takes."""


def symmetric(bits: int, size: int | str) -> Kind:
    """Whole numbers of so many bits with a float16 scale for `size` numbers, "row" or "matrix"."""
    most = 2 ** (bits - 1) - 1

    def cut(weight: Tensor) -> Tensor:
        return (
            weight.reshape(1, -1)
            if size == "matrix"
            else weight
            if size == "row"
            else weight.reshape(-1, size)
        )

    def rounded(weight: Tensor) -> Tensor:
        rows = cut(weight)
        scale = (rows.abs().amax(1, keepdim=True) / most).half().float()
        return ((rows / scale.clamp(min=1e-30)).round().clamp(-most, most) * scale).view(
            weight.shape
        )

    return rounded, lambda weight: weight.numel() * bits / 8 + 2 * len(cut(weight))


def plain(bits: int, change: Callable[[Tensor], Tensor]) -> Kind:
    """The same bits for each number and no scale."""
    return change, lambda weight: weight.numel() * bits / 8


def of_type(name: str) -> Kind:
    """A type of GGUF, the matrix cut as one row."""
    return plain(
        bits_a_number(name), lambda weight: through(weight.reshape(-1), name).view(weight.shape)
    )


KINDS: dict[str, Kind] = {
    "float32": plain(32, lambda weight: weight),
    "float16": plain(16, lambda weight: weight.half().float()),
    **{name: of_type(name) for name in ("Q8_0", "Q6_K", "Q4_1", "Q4_K", "Q4_0")},
    "3 bits, blocks of 32": symmetric(3, 32),
    "2 bits, blocks of 32": symmetric(2, 32),
    "8 bits, a scale a matrix": symmetric(8, "matrix"),
    "4 bits, a scale a row": symmetric(4, "row"),
    "4 bits, a scale a matrix": symmetric(4, "matrix"),
}
PARTS = {"tables": "embed", "attention": "attention", "feed-forward": "feed_forward"}


ASKED = [(kind, "") for kind in KINDS] + [("Q4_0", part) for part in PARTS]


def parameters(model: nn.Module, part: str) -> Iterator[tuple[Tensor, bool]]:
    """Each parameter once, and whether it is rounded: a matrix of this part, or of any."""
    seen: set[int] = set()
    for name, tensor in model.named_parameters():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            yield tensor, tensor.dim() > 1 and bool(re.search(PARTS.get(part, ""), name))


def bytes_of(model: nn.Module, kind: str, part: str) -> int:
    """All parameters in a file, its header left out."""
    return round(
        sum(
            KINDS[kind][1](tensor) if chosen else 4 * tensor.numel()
            for tensor, chosen in parameters(model, part)
        )
    )


@torch.no_grad()
def rounded(model: nn.Module, kind: str, part: str) -> tuple[nn.Module, float]:
    """A copy with its matrices rounded, and how far they are off, in shares of their size."""
    model, wrong, size = copy.deepcopy(model), 0.0, 0.0
    for tensor, chosen in parameters(model, part):
        if chosen:
            new = KINDS[kind][0](tensor)
            wrong, size = (
                wrong + float((new - tensor).double().square().sum()),
                size + float(tensor.double().square().sum()),
            )
            tensor.copy_(new)
    return model, round((wrong / size) ** 0.5, 5)


def of_minilm(bert: nn.Module, seed: int) -> list[dict]:
    """Every kind on one draw; the pairs of words do not depend on the draw and are asked
    each time.
    """
    definitions = common_definitions(corpora.load("glove_6b_50d"))
    texts, queries, right = drawn(definitions, seed)
    judged = {q: dict.fromkeys(some, 1) for q, some in enumerate(right)}
    pairs = corpora.load("wordsim353")
    words = sorted({word for pair in pairs for word in pair[:2]})
    at, people = (
        {word: place for place, word in enumerate(words)},
        torch.tensor([score for *_, score in pairs]),
    )
    before, runs = None, []
    for kind, part in ASKED:
        model, error = rounded(bert, kind, part)
        one, other, single = (pooled(model, some)["mean"] for some in (queries, texts, words))
        ranks = search(one, other, len(texts))
        ndcg, _, mrr = retrieval_scores(dict(enumerate(ranks.places.tolist())), judged)
        first = ranks.places[:, 0]
        before = before or (one, first)
        said = cosine_similarity(
            single[[at[a] for a, *_ in pairs]], single[[at[b] for _, b, _ in pairs]]
        )
        runs.append(
            {
                "draw": seed,
                "kind": kind,
                "part": part,
                "relative_error": error,
                "ndcg": round(ndcg, 4),
                "mrr": round(mrr, 4),
                "wordsim": round(spearman(said, people), 4),
                "cosine": round(float(cosine_similarity(one, before[0]).mean()), 5),
                "same_first": round(float((first == before[1]).float().mean()), 4),
                "queries": len(queries),
            }
        )
        print(runs[-1], flush=True)
    return runs


def of_llama() -> list[dict]:
    """Every kind on all held-out text."""
    from llama import NAME, figures

    from reference_impl.corpora.small_models import small_model

    kept, runs = small_model(NAME), []
    for kind, part in ASKED:
        model, error = rounded(kept.model, kind, part)
        runs.append(
            {
                "kind": kind,
                "part": part,
                "bytes": bytes_of(model, kind, part),
                "relative_error": error,
                "bits_per_byte": figures(model, kept.tokenizer)["bits_per_byte"],
            }
        )
        print(runs[-1], flush=True)
    return runs


def main() -> None:
    """Round, measure, write bench/results/quantized.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draw", type=int, help="make this one again and keep the others")
    parser.add_argument(
        "--llama", action="store_true", help="make the LLaMA's rows alone again and keep MiniLM's"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    started, file = time.process_time(), RESULTS / "quantized.json"
    old = (
        json.loads(file.read_text(encoding="utf-8"))
        if file.is_file() and (args.llama or args.draw is not None)
        else {}
    )
    draws = [] if args.llama else range(DRAWS) if args.draw is None else [args.draw]
    minilm = [run for run in old.get("minilm", []) if run["draw"] not in draws]
    bert = corpora.load("minilm").eval()
    for draw in draws:
        minilm += of_minilm(bert, draw)
    for run in minilm:
        run["bytes"] = bytes_of(bert, run["kind"], run["part"])
    save(
        "quantized",
        versions=("torch", "numpy"),
        seeds=sorted({run["draw"] for run in minilm}),
        kinds=list(KINDS),
        parts=list(PARTS),
        minilm=sorted(minilm, key=lambda run: run["draw"]),
        llama=old.get("llama", []) if args.draw is not None else of_llama(),
        cpu_seconds=round(time.process_time() - started) + old.get("cpu_seconds", 0),
    )


if __name__ == "__main__":
    main()
