"""What a published encoder does, MiniLM in our BERT: senses by layer, and what three changes of it
cost.

    python bench/encoder.py        about a minute on one core

- the same vectors as transformers' BertModel from the same file
- *bank* in eight sentences, four of a river and four of money, after each layer; and *right*, as a
  direction and as what is just
- ReLU, or GELU by tanh, in the place of GELU in all blocks, judged by sentences' vectors (mean over
  tokens, as the model's card has it)
- the same sentence at later places: what the position alone does to *bank*
- the table of word embeddings alone, by WordSim-353

Writes bench/results/encoder.json.
"""

import argparse
import os
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn.functional import cosine_similarity, normalize  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.embeddings.evaluation import word_similarity  # noqa: E402
from reference_impl.embeddings.vectors import Vectors  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402

RIVER = (
    "We sat on the bank of the river.",
    "The bank of the river was muddy.",
    "They fished from the grassy bank.",
    "Water had covered the left bank.",
)
MONEY = (
    "The bank lends money.",
    "She opened an account at the bank.",
    "The bank charged him a fee.",
    "He robbed a bank in town.",
)
RIGHT = {
    "street": "He lives on the right side of the street.",
    "history": "She was on the right side of history.",
}
SHIFTS, EVERY = (10, 50, 200, 400), 600
TOKENIZER = corpora.load("bert_tokenizer")


def ids_of(text: str) -> Tensor:
    """A text between [CLS] and [SEP], (1, T)."""
    return torch.tensor([TOKENIZER.encode(text).ids])


def place_of(word: str, text: str) -> int:
    """Where a whole word stands among the tokens."""
    return TOKENIZER.encode(text).tokens.index(word)


def layers(bert: Bert, ids: Tensor, positions: Tensor | None = None) -> Tensor:
    """The word table's rows, what enters the first block, and what each block gives: (L +
    2, T, C).
    """
    stack = [bert.embeddings.word(ids), bert.embeddings(ids, torch.zeros_like(ids), positions)]
    for block in bert.blocks:
        stack.append(block(stack[-1], None))
    return torch.cat(stack)


def sentence_vectors(bert: Bert, texts: list[str]) -> Tensor:
    """The mean over a text's tokens, (N, C), each text read alone."""
    return torch.cat([bert(ids_of(text)).tokens.mean(1) for text in texts])


def spread(values: Tensor) -> dict[str, float]:
    """Mean, lowest and highest."""
    return {
        "mean": round(values.mean().item(), 4),
        "low": round(values.min().item(), 4),
        "high": round(values.max().item(), 4),
    }


def with_act(bert: Bert, act: str) -> Bert:
    """The same weights with another bend in the feed-forward layers."""
    other = Bert(replace(bert.config, hidden_act=act)).eval()
    other.load_state_dict(bert.state_dict())
    return other


def kept_neighbours(one: Tensor, other: Tensor) -> float:
    """The share of texts whose nearest other text is the same by both sets of vectors."""
    near = []
    for vectors in (one, other):
        cosines = normalize(vectors, dim=-1) @ normalize(vectors, dim=-1).T
        near.append(cosines.fill_diagonal_(-1).argmax(-1))
    return (near[0] == near[1]).float().mean().item()


@torch.no_grad()
def main() -> None:
    """Measure, and write the record."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    from transformers import BertModel

    torch.set_num_threads(1)
    bert, texts = corpora.load("minilm").eval(), [*RIVER, *MONEY]
    theirs, apart = BertModel.from_pretrained(corpora.path("minilm")).eval(), 0.0
    for text in texts:
        ids = ids_of(text)
        apart = max(apart, (bert(ids).tokens - theirs(ids).last_hidden_state).abs().max().item())

    banks = torch.stack(
        [layers(bert, ids_of(text))[:, place_of("bank", text)] for text in texts]
    )  # (8, L + 2, C)
    pairs = {
        "same": [pair for pair in combinations(range(8), 2) if pair[0] // 4 == pair[1] // 4],
        "other": [pair for pair in combinations(range(8), 2) if pair[0] // 4 != pair[1] // 4],
    }
    by_layer = [
        {
            name: spread(
                torch.stack(
                    [cosine_similarity(banks[a, layer], banks[b, layer], dim=0) for a, b in some]
                )
            )
            for name, some in pairs.items()
        }
        for layer in range(banks.shape[1])
    ]
    two = cosine_similarity(banks[0], banks[4], dim=-1)
    right = [layers(bert, ids_of(text))[-1, place_of("right", text)] for text in RIGHT.values()]
    matrix = normalize(banks[:, -1], dim=-1) @ normalize(banks[:, -1], dim=-1).T

    glosses = corpora.load("oewn_glosses")[::EVERY]
    plain, bends = sentence_vectors(bert, glosses), {}
    for act in ("relu", "gelu_new"):
        bent = with_act(bert, act)
        changed = sentence_vectors(bent, glosses)
        bends[act] = {
            **spread(cosine_similarity(plain, changed, dim=-1)),
            "same_neighbour": round(kept_neighbours(plain, changed), 4),
            "texts": {
                text: round(
                    cosine_similarity(
                        sentence_vectors(bert, [text]), sentence_vectors(bent, [text])
                    ).item(),
                    4,
                )
                for text in (RIVER[0], MONEY[0])
            },
        }

    first, moved = ids_of(RIVER[0]), {}
    for shift in SHIFTS:
        places = torch.arange(first.shape[1])[None] + shift
        there = layers(bert, first, places)[-1, place_of("bank", RIVER[0])]
        moved[shift] = round(cosine_similarity(banks[0, -1], there, dim=0).item(), 4)

    words = [token for token in TOKENIZER.vocabulary.tokens if token.isalpha()]
    table = Vectors(
        words, bert.embeddings.word.weight[[TOKENIZER.vocabulary.id(word) for word in words]]
    )
    score = word_similarity(table, corpora.load("wordsim353"))
    save(
        "encoder",
        versions=("torch", "transformers"),
        apart_from_transformers=apart,
        weights=sum(1 for _ in bert.parameters()),
        parameters=sum(p.numel() for p in bert.parameters()),
        sentences=texts,
        two_banks=[round(c, 4) for c in two.tolist()],
        cosines=[[round(c, 4) for c in row] for row in matrix.tolist()],
        by_layer=by_layer,
        right={"texts": RIGHT, "cosine": round(cosine_similarity(*right, dim=0).item(), 4)},
        bends={"texts": len(glosses), **bends},
        moved=moved,
        wordsim={"rho": round(score.rho, 4), "used": score.used, "of": score.total},
    )


if __name__ == "__main__":
    main()
