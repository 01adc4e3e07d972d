"""ELMo: words read by their characters, in two directions that never meet, and a task's
own mix of all layers.

Peters et al. 2018, section 3: the joint loss (3.1), the scalar mix (equation 1), the
sizes and the residual connection (3.4). The character encoder: Kim et al. 2016, section
2.2; its highway layers: Srivastava et al. 2015, section 2.

The vectors of the two directions stand beside each other, and are trained together, but
no layer of one reads the other: a word's vector is two one-sided views. See `bert` for
one that looks to both sides at once.

Not here: the sampled softmax of the released program, its clipped cells, its published
weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.layers.checks import ModelInputError, check_mask
from reference_impl.layers.settings import Count, CountOrZero, Rate, Settings
from reference_impl.models.lstm import LSTMCell, run

WORD_START, WORD_END, PADDING = 256, 257, 258
NUM_CHARACTERS = 259
"""256 bytes, a mark before and one after each word, and what fills up short ones."""


@dataclass(frozen=True)
class ELMoConfig(Settings):
    """The published model (section 3.4), with the character filters of its release."""

    vocab_size: CountOrZero = (
        793_471  # 0: the readers alone, without the layer that says words
    )
    character_size: Count = 16
    filters: tuple[tuple[int, int], ...] = (
        (1, 32),
        (2, 32),
        (3, 64),
        (4, 128),
        (5, 256),
        (6, 512),
        (7, 1024),
    )
    num_highway: CountOrZero = 2
    word_size: Count = 512
    cell_size: Count = 4096
    num_layers: Count = 2
    max_characters: Count = 50
    dropout: Rate = 0.1


def word_characters(word: str, max_characters: int = 50) -> list[int]:
    """A word as its UTF-8 bytes between two marks, cut or filled up to
    `max_characters`.
    """
    content = list(word.encode())[: max_characters - 2]
    return [
        WORD_START,
        *content,
        WORD_END,
        *[PADDING] * (max_characters - 2 - len(content)),
    ]


def characters_of(
    texts: Sequence[Sequence[str]], max_characters: int = 50
) -> tuple[Int[Tensor, "B T W"], Bool[Tensor, "B T"]]:
    """Texts as lists of words, made into one tensor of characters, and where there are
    words.

    Raises ModelInputError for no text, a text of no words, an empty word, or too few
    characters for the two marks.
    """
    if not texts or not all(texts) or not all(word for text in texts for word in text):
        raise ModelInputError("an empty text or word, or no text: leave it out")
    if max_characters < 3:
        raise ModelInputError(
            f"max_characters is {max_characters}: two marks and a character take 3"
        )
    longest = max(map(len, texts))
    rows = [[word_characters(word, max_characters) for word in text] for text in texts]
    filling = [PADDING] * max_characters
    return (
        torch.tensor([row + [filling] * (longest - len(row)) for row in rows]),
        torch.arange(longest) < torch.tensor([len(row) for row in rows])[:, None],
    )


class Highway(nn.Module):
    """y = g * relu(W x) + (1 - g) * x: a gate for each number says how much of it
    changes.
    """

    def __init__(self, size: int):
        super().__init__()
        self.change, self.gate = nn.Linear(size, size), nn.Linear(size, size)
        nn.init.constant_(
            self.gate.bias, -2.0
        )  # negative, so that at first nearly everything passes

    def forward(self, x: Float[Tensor, "*B C"]) -> Float[Tensor, "*B C"]:
        """Of the same size as x."""
        gate = self.gate(x).sigmoid()
        return gate * self.change(x).relu() + (1 - gate) * x


class CharacterEncoder(nn.Module):
    """A word's vector from its spelling alone: which letter patterns occur anywhere in
    it, how strongly at most.
    """

    def __init__(self, config: ELMoConfig):
        super().__init__()
        self.embedding = nn.Embedding(NUM_CHARACTERS, config.character_size)
        # A filter of width k is a linear layer on k neighbouring characters.
        self.widths = [width for width, _ in config.filters]
        if max(self.widths) > config.max_characters:
            raise ModelInputError(
                f"a filter {max(self.widths)} wide but words of {config.max_characters}"
                " characters"
            )
        self.filters = nn.ModuleList(
            nn.Linear(width * config.character_size, number)
            for width, number in config.filters
        )
        size = sum(number for _, number in config.filters)
        self.highways = nn.Sequential(
            *(Highway(size) for _ in range(config.num_highway))
        )
        self.projection = nn.Linear(size, config.word_size)

    def patterns(self, characters: Int[Tensor, "B T W"]) -> Float[Tensor, "B T F"]:
        """For each filter the largest value over its places in the word, no less than
        0.
        """
        x = self.embedding(characters)  # (B, T, W, D)
        found = []
        for width, linear in zip(self.widths, self.filters):
            windows = (
                x.unfold(2, width, 1).transpose(-1, -2).flatten(-2)
            )  # (B, T, W - k + 1, k D)
            found.append(linear(windows).amax(2).relu())
        return torch.cat(found, dim=-1)

    def forward(self, characters: Int[Tensor, "B T W"]) -> Float[Tensor, "B T C"]:
        """One vector a word, which knows nothing of the words around it."""
        return self.projection(self.highways(self.patterns(characters)))


class ScalarMix(nn.Module):
    """gamma * sum of softmax(w)_j h_j: what a task learns about which layers it needs
    (equation 1).
    """

    def __init__(self, num_layers: int):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(num_layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Float[Tensor, "L B T C"]) -> Float[Tensor, "B T C"]:
        """The layers, lowest first, as one."""
        if len(layers) != len(self.weights):
            raise ModelInputError(
                f"{len(layers)} layers but {len(self.weights)} weights: ELMo has one"
                " layer more than LSTMs, that of the characters"
            )
        return self.gamma * torch.einsum("l,lbtc->btc", self.weights.softmax(0), layers)


class ELMo(nn.Module):
    """Two language models that share their word vectors and their output layer (section
    3.1).
    """

    def __init__(self, config: ELMoConfig):
        super().__init__()
        self.config = config
        self.words = CharacterEncoder(config)
        self.forwards, self.backwards = (
            nn.ModuleList(
                LSTMCell(config.word_size, config.cell_size, config.word_size)
                for _ in range(config.num_layers)
            )
            for _ in range(2)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.output = (
            nn.Linear(config.word_size, config.vocab_size)
            if config.vocab_size
            else None
        )

    def layers(
        self, characters: Int[Tensor, "B T W"], mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "L B T E"]:
        """The word vectors, twice, and above them each layer's forward vectors beside
        its backward ones: E = 2 C.

        This is what `ScalarMix` mixes. Each layer but the first adds its input to its
        output. Where there is no word the LSTMs' own part is zero.
        """
        check_mask(mask, characters.shape[:2])
        if characters.shape[-1] > self.config.max_characters or characters.shape[
            -1
        ] < max(self.words.widths):
            raise ModelInputError(
                f"words of {characters.shape[-1]} characters: give"
                f" {max(self.words.widths)}, the widest filter, to"
                f" {self.config.max_characters}"
            )
        words = self.words(characters)  # (B, T, C)
        stacks = []
        for cells, backward in ((self.forwards, False), (self.backwards, True)):
            stack = [words]
            for number, cell in enumerate(cells):
                output, _ = run(cell, self.dropout(stack[-1]), mask, backward=backward)
                stack.append(output + stack[-1] if number else output)
            stacks.append(torch.stack(stack))  # (L, B, T, C)
        return torch.cat(stacks, dim=-1)

    def forward(
        self, characters: Int[Tensor, "B T W"], mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B T V"]]:
        """Logits of the word after each, from those up to it; and of the word before
        each, from those down to it.

        Raises ModelInputError for a model without its output layer.
        """
        if self.output is None:
            raise ModelInputError(
                "vocab_size is 0, so this model says no words: `layers` gives its"
                " vectors"
            )
        ahead, behind = self.dropout(self.layers(characters, mask)[-1]).chunk(2, dim=-1)
        return self.output(ahead), self.output(behind)
