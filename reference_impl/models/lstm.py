"""LSTM: a cell state that is carried along a text, with forget, input and output gate.

Hochreiter and Schmidhuber 1997, section 4; the forget gate: Gers, Schmidhuber and
Cummins 2000, section 3; the projection of the output: Sak, Senior and Beaufays 2014,
section 2.

A mask says where there are tokens. Elsewhere the state is handed on unchanged, so that
a reader in either direction meets the first token of its way with a fresh state and
ends with that of the last: rows of different lengths need no packing.

Not here: peepholes from the cell to the gates, training on long texts piece by piece, a
compiled loop.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError, check_ids, check_mask
from reference_impl.layers.settings import Count, Rate, Settings

State = tuple[Float[Tensor, "B P"], Float[Tensor, "B H"]]
"""The hidden state and the cell state. Both have H dimensions, unless the first is
projected."""


class LSTMCell(nn.Module):
    """One step.

    With `projection_size`, the hidden state is a linear map to fewer dimensions.
    """

    def __init__(
        self, input_size: int, hidden_size: int, projection_size: int | None = None
    ):
        super().__init__()
        self.hidden_size, self.output_size = hidden_size, projection_size or hidden_size
        self.input = nn.Linear(input_size, 4 * hidden_size)
        self.recurrent = nn.Linear(self.output_size, 4 * hidden_size, bias=False)
        self.projection = (
            nn.Linear(hidden_size, projection_size, bias=False)
            if projection_size
            else nn.Identity()
        )
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def start(self, x: Float[Tensor, "B *T D"]) -> State:
        """Zeros, for as many rows as x has."""
        return x.new_zeros(len(x), self.output_size), x.new_zeros(
            len(x), self.hidden_size
        )

    def step(self, projected: Float[Tensor, "B G"], state: State) -> State:
        """The next state from `self.input(x)`, which is made for all steps at once, and
        the state before.
        """
        hidden, cell = state
        gates = projected + self.recurrent(hidden)  # (B, 4 H)
        input, forget, candidate, output = gates.chunk(4, dim=-1)  # (B, H) each
        cell = forget.sigmoid() * cell + input.sigmoid() * candidate.tanh()
        return self.projection(output.sigmoid() * cell.tanh()), cell

    def forward(self, x: Float[Tensor, "B D"], state: State | None = None) -> State:
        """The next state from one input."""
        return self.step(self.input(x), self.start(x) if state is None else state)


def run(
    cell: LSTMCell,
    x: Float[Tensor, "B T D"],
    mask: Bool[Tensor, "B T"] | None = None,
    state: State | None = None,
    backward: bool = False,
) -> tuple[Float[Tensor, "B T P"], State]:
    """Along the text, or from its end: the hidden state at every position, zero where
    there is no token, and the last state.

    Raises ModelInputError for a text without tokens.
    """
    num_tokens = x.shape[1]
    if not num_tokens:
        raise ModelInputError("a text of 0 tokens: give one or more")
    check_mask(mask, x.shape[:2])
    projected = cell.input(x)  # (B, T, 4 H)
    h, c = cell.start(x) if state is None else state
    outputs = []
    for t in range(num_tokens)[:: -1 if backward else 1]:
        new_h, new_c = cell.step(projected[:, t], (h, c))
        if mask is not None:
            is_token = mask[:, t, None]  # (B, 1)
            new_h = torch.where(is_token, new_h, h)
            new_c = torch.where(is_token, new_c, c)
        h, c = new_h, new_c
        outputs.append(h if mask is None else h * is_token)
    return torch.stack(outputs[::-1] if backward else outputs, dim=1), (h, c)


class LSTM(nn.Module):
    """Layers of cells, each reading what the one below shows; with `bidirectional`,
    both directions of it.

    Each layer's two readers see the whole text of the layer below, so from the second
    layer on every vector depends on every token: no language model can be trained on it
    (see `elmo` for one that keeps the directions apart).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.layers = nn.ModuleList(
            nn.ModuleList(
                LSTMCell(
                    hidden_size * self.directions if layer else input_size, hidden_size
                )
                for _ in range(self.directions)
            )
            for layer in range(num_layers)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"] | None = None,
        states: list[State] | None = None,
    ) -> tuple[Float[Tensor, "B T W"], list[State]]:
        """The top layer's vectors, forward beside backward, and the last states: layer
        by layer, forward first.

        `states` are those to start from, in the same order.
        """
        if states is not None and len(states) != len(self.layers) * self.directions:
            raise ModelInputError(
                f"{len(states)} states but {len(self.layers)} layers in"
                f" {self.directions} directions: give one for each"
            )
        last = []
        for number, cells in enumerate(self.layers):
            x = self.dropout(x) if number else x
            outputs = []
            for cell, backward in zip(cells, (False, True)):
                output, state = run(
                    cell,
                    x,
                    mask,
                    None if states is None else states[len(last)],
                    backward,
                )
                outputs.append(output)
                last.append(state)
            x = torch.cat(outputs, dim=-1)  # (B, T, directions H)
        return x, last


@dataclass(frozen=True)
class LSTMConfig(Settings):
    """A small word model; Zaremba et al.

    2014, section 4.1, has one of 10,000 words and 650 cells in 2 layers.
    """

    vocab_size: Count = 10_000
    hidden_size: Count = 650
    num_layers: Count = 2
    dropout: Rate = 0.5


class LSTMLanguageModel(nn.Module):
    """The token after each, from the state that has read all before."""

    def __init__(self, config: LSTMConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.lstm = LSTM(
            config.hidden_size,
            config.hidden_size,
            config.num_layers,
            dropout=config.dropout,
        )
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.hidden_size, config.vocab_size)

    def hidden(
        self,
        ids: Int[Tensor, "B T"],
        mask: Bool[Tensor, "B T"] | None = None,
        states: list[State] | None = None,
    ) -> tuple[Float[Tensor, "B T C"], list[State]]:
        """The top layer's vectors, and the states from which the next piece of the text
        goes on.
        """
        check_ids(ids, self.config.vocab_size)
        check_mask(mask, ids.shape)
        return self.lstm(self.dropout(self.embedding(ids)), mask, states)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each; `mask` is needed for padding that is not on
        the right.
        """
        return self.output(self.dropout(self.hidden(ids, mask)[0]))
