"""Sequence to sequence with attention: one LSTM reads in both directions, another
writes and looks back at each step.

Bahdanau, Cho and Bengio 2015, section 3 and appendix A. The reader's vectors are scored
by a small network that sees what the writer showed last; the writer reads their mean,
weighted by the softmax of the scores. Before this, all of the source had to fit in one
vector (Sutskever et al. 2014).

Not here: the paper's gated units (ours is the cell of `lstm`) and its maxout layer
(ours is tanh), beam search.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError, check_ids, check_mask
from reference_impl.layers.settings import Count, Settings
from reference_impl.models.lstm import LSTM, LSTMCell, State


@dataclass(frozen=True)
class Seq2SeqConfig(Settings):
    """As `bench/trained/spelling.py` trains it: from letters to phonemes.

    Both sides may share ids, or not.
    """

    source_vocab_size: Count
    target_vocab_size: Count
    embedding_size: Count = 64
    hidden_size: Count = 160


class AdditiveAttention(nn.Module):
    """score = v . tanh(W query + U key): Bahdanau et al. 2015, appendix A.1.2."""

    def __init__(self, query_size: int, key_size: int, hidden_size: int):
        super().__init__()
        self.query = nn.Linear(query_size, hidden_size, bias=False)
        self.key = nn.Linear(key_size, hidden_size)
        self.score = nn.Linear(hidden_size, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "B Q"],
        keys: Float[Tensor, "B S A"],
        memory: Float[Tensor, "B S C"],
        mask: Bool[Tensor, "B S"] | None = None,
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, "B S"]]:
        """The mean of the memory, and its weights.

        `keys` is `self.key(memory)`, made once for all steps.
        """
        scores = self.score((self.query(query)[:, None] + keys).tanh()).squeeze(
            -1
        )  # (B, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1)
        return torch.einsum("bs,bsc->bc", weights, memory), weights


@dataclass(frozen=True)
class Source:
    """A source that was read: its vectors, their keys for the attention, and where
    there are tokens.
    """

    memory: Float[Tensor, "B S C"]
    keys: Float[Tensor, "B S A"]
    mask: Bool[Tensor, "B S"] | None


class Seq2Seq(nn.Module):
    """From ids of a source and of the target so far to logits of the target's next
    token.
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        width = config.hidden_size
        self.source_embedding = nn.Embedding(
            config.source_vocab_size, config.embedding_size
        )
        self.target_embedding = nn.Embedding(
            config.target_vocab_size, config.embedding_size
        )
        self.encoder = LSTM(config.embedding_size, width, bidirectional=True)
        self.first_state = nn.Linear(width, width)
        self.attention = AdditiveAttention(width, 2 * width, width)
        self.decoder = LSTMCell(config.embedding_size + 2 * width, width)
        self.mix = nn.Linear(config.embedding_size + 3 * width, config.embedding_size)
        self.output = nn.Linear(config.embedding_size, config.target_vocab_size)

    def encode(
        self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"] | None = None
    ) -> tuple[Source, State]:
        """The source, read, and the writer's first state: from what the backward reader
        ends with, at the beginning.

        Raises ModelInputError for a row without tokens: there is nothing to look at.
        """
        check_ids(source, self.config.source_vocab_size)
        check_mask(mask, source.shape)
        if not source.shape[1] or (mask is not None and not bool(mask.any(-1).all())):
            raise ModelInputError("a source of 0 tokens: leave it out of the batch")
        memory, (_, backward) = self.encoder(self.source_embedding(source), mask)
        shown = self.first_state(backward[0]).tanh()
        return Source(memory, self.attention.key(memory), mask), (
            shown,
            torch.zeros_like(shown),
        )

    def step(
        self, previous: Int[Tensor, "B"], state: State, source: Source
    ) -> tuple[Float[Tensor, "B M"], State, Float[Tensor, "B S"]]:
        """What the output layers read, the next state, and how much each token of the
        source was looked at.
        """
        word = self.target_embedding(previous)  # (B, E)
        seen, weights = self.attention(
            state[0], source.keys, source.memory, source.mask
        )
        state = self.decoder(torch.cat((word, seen), dim=-1), state)
        return torch.cat((word, seen, state[0]), dim=-1), state, weights

    def logits(self, mixed: Float[Tensor, "*B M"]) -> Float[Tensor, "*B V"]:
        """Scores of the next token, from what `step` gives, of one place or of all."""
        return self.output(self.mix(mixed).tanh())

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        source_mask: Bool[Tensor, "B S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each of `target`'s, which begins with a start
        token.
        """
        check_ids(target, self.config.target_vocab_size)
        read, state = self.encode(source, source_mask)
        places = []
        for previous in target.unbind(1):
            mixed, state, _ = self.step(previous, state, read)
            places.append(mixed)
        return self.logits(torch.stack(places, dim=1))

    @torch.no_grad()
    def write(
        self,
        source: Int[Tensor, "B S"],
        source_mask: Bool[Tensor, "B S"] | None = None,
        *,
        start_id: int,
        end_id: int,
        max_tokens: int,
    ) -> tuple[list[list[int]], Float[Tensor, "B T S"]]:
        """The likeliest token at each step until `end_id`, which is left out, and what
        each step looked at.
        """
        read, state = self.encode(source, source_mask)
        previous = source.new_full((len(source),), start_id)
        tokens, looks, ended = [], [], torch.zeros_like(previous, dtype=torch.bool)
        while len(tokens) < max_tokens and not bool(ended.all()):
            mixed, state, weights = self.step(previous, state, read)
            previous = self.logits(mixed).argmax(-1)
            ended |= previous == end_id
            tokens.append(previous)
            looks.append(weights)
        rows = torch.stack(tokens, dim=1).tolist()
        return [
            row[: row.index(end_id)] if end_id in row else row for row in rows
        ], torch.stack(looks, dim=1)
