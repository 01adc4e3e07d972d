"""Train one small decoder with seven kinds of positions on short texts, and ask each in texts up to eight times as long.

    python bench/trained/positions.py [--steps 600] [--seeds 1]        about four minutes on one core for a seed

The King James Bible in the first 512 tokens of the small GPT's vocabulary, read in stretches of 64. All kinds see the
same batches and begin with the same draw of the weights that they share. They differ in what tells them where a token
stands: nothing; a trained vector a place (those of places past 64 stay as they were drawn); sinusoids, at the size of
the embeddings; T5's bias; ALiBi; rotary; Transformer-XL's four terms. All scores are scaled by 1 / sqrt(D), T5's too.

Asked are the same held-out tokens each time: the last 32 of a stretch of 512, given the last 64, 128, 256 or all of it.
And of the first layer, how far its mean score for a query and a key depends on their distance alone. No model is kept.
"""
import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from texts import as_tokens, scripture, split, tokenizer_for  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.layers.attention import MultiHeadAttention, merge_heads, split_heads  # noqa: E402
from reference_impl.layers.feed_forward import FeedForward  # noqa: E402
from reference_impl.layers.initial import start_normal  # noqa: E402
from reference_impl.layers.masks import causal_mask  # noqa: E402
from reference_impl.layers.norms import LayerNorm  # noqa: E402
from reference_impl.layers.positions import LearnedPositions, alibi_bias, sinusoidal_positions  # noqa: E402
from reference_impl.layers.relative import RelativeBias, distance_vectors, transformer_xl_scores  # noqa: E402
from reference_impl.layers.rotary import rotary_tables, rotate  # noqa: E402
from reference_impl.objectives.causal_lm import causal_lm, chunk_batch, cut_chunks  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.tokenizers.vocabulary import Vocabulary  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

KINDS = ("none", "learned", "sinusoidal", "T5", "Transformer-XL", "ALiBi", "RoPE")
VOCAB_SIZE, WIDTH, HEADS, LAYERS, INNER = 512, 64, 4, 2, 256
TRAINED, LENGTHS, ASKED = 64, (64, 128, 256, 512), 32
BATCH, STEPS, SINUSOIDS = 16, 600, 0.05


class XLAttention(MultiHeadAttention):
    """Transformer-XL's scores in the place of q . k."""

    def __init__(self):
        super().__init__(WIDTH, HEADS)
        self.distance = nn.Linear(WIDTH, WIDTH, bias=False)
        self.u, self.v = (nn.Parameter(torch.zeros(HEADS, WIDTH // HEADS)) for _ in range(2))

    def scores(self, x: Tensor) -> Tensor:
        """(B, H, T, T), scaled; the mask is not in it."""
        length = x.shape[1]
        r = split_heads(self.distance(distance_vectors(length, length, WIDTH))[None], HEADS)[0]  # (H, R, D)
        q, (k, _) = split_heads(self.query(x), HEADS), self.keys_values(x)
        return transformer_xl_scores(q, k, r, self.u, self.v) * (WIDTH // HEADS) ** -0.5

    def forward(self, x: Tensor, **given: object) -> Tensor:
        """Causal, as all here."""
        weights = self.scores(x).masked_fill(~causal_mask(x.shape[1]), -torch.inf).softmax(-1)
        return self.output(merge_heads(weights @ self.keys_values(x)[1]))


class Block(nn.Module):
    """GPT-2's block."""

    def __init__(self):
        super().__init__()
        self.attention_norm, self.feed_forward_norm = LayerNorm(WIDTH), LayerNorm(WIDTH)
        self.attention = MultiHeadAttention(WIDTH, HEADS)
        self.feed_forward = FeedForward(WIDTH, INNER)

    def forward(self, x: Tensor, given: dict[str, object]) -> Tensor:
        """`given` is what attention is told of positions."""
        x = x + self.attention(self.attention_norm(x), causal=True, **given)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    """A language model of two blocks, with one kind of positions."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(VOCAB_SIZE, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = LayerNorm(WIDTH)
        start_normal(self)  # all that kinds share, drawn before what they do not
        if kind == "learned":
            self.positions = LearnedPositions(max(LENGTHS), WIDTH)
            nn.init.normal_(self.positions.weight, std=0.02)
        if kind == "T5":
            self.positions = RelativeBias(HEADS, both_directions=False)
            nn.init.zeros_(self.positions.table.weight)
        if kind == "Transformer-XL":
            for block in self.blocks:
                shared, block.attention = block.attention, XLAttention()
                block.attention.load_state_dict(shared.state_dict(), strict=False)
                nn.init.normal_(block.attention.distance.weight, std=0.02)

    def start(self, ids: Tensor) -> Tensor:
        """(B, T, C): embeddings, and vectors of places where the kind has any."""
        x, length = self.embedding(ids), ids.shape[1]
        if self.kind == "learned":
            return x + self.positions(length)
        if self.kind == "sinusoidal":
            return x + SINUSOIDS * sinusoidal_positions(torch.arange(length), WIDTH)
        return x

    def given(self, length: int) -> dict[str, object]:
        """What attention is told, for all layers alike."""
        if self.kind == "T5":
            return {"bias": self.positions(length)}
        if self.kind == "ALiBi":
            return {"bias": alibi_bias(HEADS, length)}
        if self.kind == "RoPE":
            return {"rotary": rotary_tables(torch.arange(length), WIDTH // HEADS)}
        return {}

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the token after each, (B, T, V)."""
        x, given = self.start(ids), self.given(ids.shape[1])
        for block in self.blocks:
            x = block(x, given)
        return self.norm(x) @ self.embedding.weight.T

    def first_scores(self, ids: Tensor) -> Tensor:
        """The first layer's scores for every query and key, (B, H, T, T)."""
        attention, given = self.blocks[0].attention, self.given(ids.shape[1])
        x = self.blocks[0].attention_norm(self.start(ids))
        if isinstance(attention, XLAttention):
            return attention.scores(x)
        q, k = split_heads(attention.query(x), HEADS), attention.keys_values(x)[0]
        if "rotary" in given:
            q, k = rotate(q, given["rotary"]), rotate(k, given["rotary"])
        return q @ k.transpose(-2, -1) * (WIDTH // HEADS) ** -0.5 + given.get("bias", 0)


@torch.no_grad()
def nats(model: Decoder, chunks: Tensor) -> dict[str, float]:
    """Nats a token of the last ASKED tokens of each chunk (513 ids), given so many ids before the end."""
    found = {}
    for length in LENGTHS:
        total, count = 0.0, 0
        for some in chunks.split(16):
            logits = model(some[:, -length - 1:-1])[:, -ASKED:]
            total += float(nn.functional.cross_entropy(logits.flatten(0, 1), some[:, -ASKED:].flatten(), reduction="sum"))
            count += some.shape[0] * ASKED
        found[str(length)] = round(total / count, 4)
    return found


@torch.no_grad()
def share_of_distance(model: Decoder, chunks: Tensor, farthest: int = 16) -> float:
    """Of the variation of the first layer's mean scores over places 32 to 63 and distances below `farthest`: what distance explains.

    The mean is over texts; each head by itself, and the mean of the heads. 1: a query at any place treats a distance alike.
    """
    mean = torch.stack([model.first_scores(some).sum(0) for some in chunks[:, :TRAINED].split(16)]).sum(0) / len(chunks)
    places = torch.arange(TRAINED // 2, TRAINED)
    by_distance = torch.stack([mean[:, places, places - distance] for distance in range(farthest)], -1).double()  # (H, P, F)
    whole = (by_distance - by_distance.mean((1, 2), keepdim=True)).square().mean((1, 2))
    along = (by_distance.mean(1) - by_distance.mean((1, 2))[:, None]).square().mean(1)
    return round(float((along / whole).mean()), 4)


def main() -> None:
    """Train all kinds under every seed, ask them, write bench/results/trained_positions.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    train_text, other_text = split(scripture())
    whole = tokenizer_for("gpt_kjv", train_text, 1024)
    tokenizer = ByteLevelBPE(Vocabulary(whole.vocabulary.tokens[:VOCAB_SIZE]), whole.merges[:VOCAB_SIZE - 256])
    tokens, others = as_tokens(tokenizer, train_text), as_tokens(tokenizer, other_text)
    chunks = cut_chunks(others, max(LENGTHS))

    def batches(number: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(number)
        starts = torch.randint(len(tokens) - TRAINED, (BATCH,), generator=generator)
        return chunk_batch(tokens[starts[:, None] + torch.arange(TRAINED + 1)])

    config = TrainingConfig(num_steps=options.steps, learning_rate=4e-3, warmup_steps=min(50, options.steps // 4),
                            schedule="cosine", min_learning_rate=2e-4, weight_decay=0.01, betas=(0.9, 0.98))
    found: dict[str, dict[str, object]] = {}
    for kind in KINDS:
        started, runs, shares = time.process_time(), [], []
        for seed in range(options.seeds):
            torch.manual_seed(seed)
            model = Decoder(kind)
            train(model, causal_lm, batches, config, progress=False)
            runs.append(nats(model.eval(), chunks))
            shares.append(share_of_distance(model, chunks))
        found[kind] = {"parameters": sum(p.numel() for p in model.parameters()),
                       "nats": {length: [run[length] for run in runs] for length in runs[0]},
                       "explained_by_distance": shares, "cpu_seconds": round(time.process_time() - started)}
        print(kind, found[kind], flush=True)
    save("trained_positions", versions=("torch",), seed=list(range(options.seeds)), steps=options.steps, trained_length=TRAINED,
         batch=BATCH, asked={"stretches": len(chunks), "last": ASKED}, vocabulary=VOCAB_SIZE, layers=LAYERS, width=WIDTH,
         heads=HEADS, sinusoids_times=SINUSOIDS, cpu_seconds=sum(one["cpu_seconds"] for one in found.values()), found=found)


if __name__ == "__main__":
    main()
