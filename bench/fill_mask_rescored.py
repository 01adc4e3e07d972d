"""Fill a mask with a causal language model: SmolLM2-135M scores the whole sentence with each of
some candidate words, so that both sides count.

    python bench/fill_mask_rescored.py        after trained/fill_mask.py; two minutes on one core

The forty sentences are those of `trained/fill_mask.py`. Candidates are the twelve most probable
words of MiniLM's MLM head and the twelve that SmolLM2 itself finds most probable after the left
side. By p(w | left, right), which is proportional to p(left, w, right), the sentence with the
highest probability has the best word. Beside it stands SmolLM2's own first word, from the left side
alone.
"""

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from fill_mask import CLOZE, NAME  # noqa: E402
from record import save  # noqa: E402
from torch import nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import SmallModel, small_model  # noqa: E402
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata  # noqa: E402
from reference_impl.weights.gguf_files import read_gguf  # noqa: E402

CANDIDATES = 12


@torch.no_grad()
def from_head(kept: SmallModel, text: str) -> list[str]:
    """The most probable whole words of the MLM head."""
    ids = torch.tensor([kept.tokenizer.encode(text).ids])
    at = int((ids[0] == kept.card["config"]["mask_id"]).nonzero())
    order = kept.model.masked_lm(kept.model.bert(ids).tokens[0, at]).argsort(descending=True)
    words = [kept.tokenizer.vocabulary.token(int(id)) for id in order[:100]]
    return [word for word in words if word.isalpha()][:CANDIDATES]


@torch.no_grad()
def from_left(model: nn.Module, tokenizer, text: str) -> list[str]:
    """The most probable words after the left side, for the causal model."""
    left = text[: text.index("[MASK]")].rstrip()
    ids = tokenizer.encode(left or "\n", add_specials=False).ids
    order = model(torch.tensor([ids]))[0, -1].argsort(descending=True)
    words = [tokenizer.decode([int(id)]) for id in order[:100]]
    return [word.strip() for word in words if word.startswith(" ") and word.strip().isalpha()][
        :CANDIDATES
    ]


@torch.no_grad()
def log_probabilities(model: nn.Module, tokenizer, texts: list[str]) -> torch.Tensor:
    """The logarithm of each text's probability after a line feed, (N,)."""
    rows = [tokenizer.encode("\n" + text, add_specials=False).ids for text in texts]
    ids = nn.utils.rnn.pad_sequence(
        [torch.tensor(row) for row in rows], batch_first=True, padding_value=0
    )
    logs = model(ids[:, :-1]).log_softmax(-1)  # padding comes last: no token attends to it
    taken = logs.gather(-1, ids[:, 1:, None]).squeeze(-1)
    lengths = torch.tensor([len(row) - 1 for row in rows])
    return (taken * (torch.arange(taken.shape[1]) < lengths[:, None])).sum(1)


def main() -> None:
    """Score every sentence with every candidate, write bench/results/fill_mask_rescored.json."""
    torch.set_num_threads(1)
    started = time.process_time()
    metadata = read_gguf(next(corpora.path("smollm2").glob("*.gguf"))).metadata
    model, tokenizer = corpora.load("smollm2").eval(), tokenizer_from_metadata(metadata)
    kept, sentences = small_model(NAME), []
    for text, right in CLOZE:
        left = from_left(model, tokenizer, text)
        words = list(dict.fromkeys([*from_head(kept, text), *left]))
        scores = log_probabilities(
            model, tokenizer, [text.replace("[MASK]", word) for word in words]
        )
        order = scores.argsort(descending=True).tolist()
        best = [words[n] for n in order]
        ranks = [best.index(word) + 1 for word in right.split() if word in best]
        sentences.append(
            {
                "text": text,
                "right": right,
                "left alone": left[0],
                "best": best[:5],
                "rank": min(ranks, default=0),
            }
        )
        print(text, best[:5], flush=True)
    save(
        "fill_mask_rescored",
        versions=("torch",),
        cpu_seconds=round(time.process_time() - started),
        candidates=2 * CANDIDATES,
        cloze={
            "sentences": len(sentences),
            "left alone": sum(row["left alone"] in row["right"].split() for row in sentences),
            "top 1": sum(row["rank"] == 1 for row in sentences),
            "top 5": sum(1 <= row["rank"] <= 5 for row in sentences),
        },
        sentences=sentences,
    )


if __name__ == "__main__":
    main()
