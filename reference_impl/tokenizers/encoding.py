"""From tokens to what a model is fed: pairs, special tokens, segment ids, truncation,
padding.

BERT (Devlin et al. 2019, section 3 and figure 2) reads "[CLS] A [SEP] B [SEP]", with
segment id 0 up to the first [SEP] and 1 after it. A template says where the special
tokens of a model go:

    BERT  = Template("[CLS]:0 A:0 [SEP]:0", "[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1")
    GPT-2 = Template("A:0", "A:0 B:1")

An `Encoding` is a handful of lists of the same length. Truncation comes before the
template, so special tokens are never cut off; padding comes last, over a batch.

But: the strategies are those of `tokenizers`, exactly. "longest_first" gives an odd
last place to the second of two equally long texts; BERT's first release gave it to the
first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from reference_impl.tokenizers.text_normalizers import WHITE_SPACE
from reference_impl.tokenizers.vocabulary import TokenizerError

STRATEGIES = ("longest_first", "only_first", "only_second")
SIDES = ("left", "right")


@dataclass
class Encoding:
    """One input of a model. All lists have the same length, except `overflow`."""

    ids: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)
    """Where the token stands in its text, in characters, end exclusive; (0, 0) for what
    a template or padding added."""
    word_ids: list[int | None] = field(default_factory=list)
    """Which word of its text the token is part of; None for added tokens."""
    sequence_ids: list[int | None] = field(default_factory=list)
    """0 for the first text, 1 for the second, None for added tokens."""
    type_ids: list[int] = field(default_factory=list)
    special_mask: list[int] = field(default_factory=list)
    """1 for tokens that a template or padding added."""
    attention_mask: list[int] = field(default_factory=list)
    """0 for padding."""
    overflow: list["Encoding"] = field(default_factory=list)
    """What truncation cut off, as further encodings, each overlapping the one before by
    the stride."""

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, start: int, end: int) -> "Encoding":
        """The tokens from `start` to `end`, without the overflow."""
        return Encoding(*(getattr(self, name)[start:end] for name in LISTS))

    def __add__(self, other: "Encoding") -> "Encoding":
        return Encoding(*(getattr(self, name) + getattr(other, name) for name in LISTS))


LISTS = (
    "ids",
    "tokens",
    "offsets",
    "word_ids",
    "sequence_ids",
    "type_ids",
    "special_mask",
    "attention_mask",
)


def added(
    token: str, id: int, type_id: int = 0, attended: bool = True, count: int = 1
) -> Encoding:
    """Tokens that stand for no text: special tokens of a template, or padding."""
    one = ([id], [token], [(0, 0)], [None], [None], [type_id], [1], [int(attended)])
    return Encoding(*(values * count for values in one))


_SPACES = "\u0120" + WHITE_SPACE
"""White space, and what stands for a space in byte-level tokens."""


def trimmed(
    tokens: Sequence[str], offsets: Sequence[tuple[int, int]], adds_space: bool
) -> list[tuple[int, int]]:
    """The offsets without the spaces that tokens begin and end with.

    With `adds_space`, a single one at the beginning of a text was put there by the
    tokenizer and has no room to lose.
    """
    result = []
    for i, (token, (start, end)) in enumerate(zip(tokens, offsets)):
        leading, trailing = (
            len(token) - len(token.lstrip(_SPACES)),
            len(token) - len(token.rstrip(_SPACES)),
        )
        if adds_space and leading == 1 and (i == 0 or start == 0):
            leading = 0
        start = min(start + leading, end)
        result.append((start, max(end - trailing, start) if trailing <= end else end))
    return result


Items = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Template:
    """Where texts and special tokens go.

    Items are `NAME:TYPE`, with spaces between; A and B are the texts.

    Items may also come as pairs of name and type, for names with a space in them.
    """

    single: str | Items = "A:0"
    pair: str | Items = "A:0 B:1"

    def items(self, paired: bool) -> list[tuple[str, int]]:
        """The items as (name, segment id)."""
        items = self.pair if paired else self.single
        if not isinstance(items, str):
            return list(items)
        split = [item.rsplit(":", 1) for item in items.split()]
        return [(name, int(type_id)) for name, type_id in split]

    def without_specials(self) -> "Template":
        """The template with its texts alone: their order and types stay."""
        return Template(
            *(
                tuple(item for item in self.items(paired) if item[0] in "AB")
                for paired in (False, True)
            )
        )

    def num_added(self, paired: bool) -> int:
        """How many special tokens the template adds."""
        return sum(name not in "AB" for name, _ in self.items(paired))

    def fill(
        self, first: Encoding, second: Encoding | None, id_of: dict[str, int]
    ) -> Encoding:
        """Put the texts and special tokens in their places.

        `id_of` has the ids of the special tokens.
        """
        result = Encoding()
        for name, type_id in self.items(second is not None):
            if name in "AB":
                text = first if name == "A" else second
                result += replace(
                    text,
                    type_ids=[type_id] * len(text),
                    sequence_ids=["AB".index(name)] * len(text),
                )
            elif name in id_of:
                result += added(name, id_of[name], type_id)
            else:
                raise TokenizerError(
                    f"the template adds {name!r}, which is not among the {len(id_of)}"
                    " tokens of this tokenizer"
                )
        return result


def kept_lengths(
    first: int, second: int | None, room: int, strategy: str
) -> tuple[int, int]:
    """How many tokens of each text stay, if `room` tokens of text fit.

    Nothing is cut if both fit as they are.

    "longest_first" cuts the longer text down, and both alike when they have become
    equally long.
    """
    if strategy not in STRATEGIES:
        raise TokenizerError(
            f"truncation is {strategy!r}; it must be one of {', '.join(STRATEGIES)}"
        )
    if strategy == "only_second" and second is None:
        raise TokenizerError("truncation is 'only_second', but there is no second text")
    total = first + (second or 0)
    if total <= room:
        return first, second or 0
    excess = total - room
    if strategy == "only_first" or second is None:
        return _cut(first, excess, "first", room), second or 0
    if strategy == "only_second":
        return first, _cut(second, excess, "second", room)
    short, long = sorted((first, second))
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short, long = room // 2, room - room // 2
    return (short, long) if first <= second else (long, short)


def _cut(length: int, excess: int, which: str, room: int) -> int:
    if length <= excess:
        raise TokenizerError(
            f"{excess} tokens must go for the texts to fit into {room}, and the {which}"
            f" text, from which alone they may be taken, has {length}: nothing would be"
            " left; use 'longest_first', or a larger max_length"
        )
    return length - excess


def windows(
    length: int, size: int, stride: int, side: str = "right"
) -> list[tuple[int, int]]:
    """Cut `length` tokens into windows of `size` that overlap by `stride`.

    The first window is the one that is kept.

    `side` says where tokens are cut off: with "left" the first window is at the end.
    """
    _check_side(side)
    if size > 0 and stride >= size:
        raise TokenizerError(
            f"stride is {stride}, but only {size} tokens of text fit: windows would not"
            " move on"
        )
    if length <= size:
        return [(0, length)]
    if size == 0:
        return [(0, 0), (0, length)]
    found = [(0, size)]
    while found[-1][1] < length:
        start = found[-1][0] + size - stride
        found.append((start, min(start + size, length)))
    if side == "right":
        return found
    return [(length - end, length - start) for start, end in found]


def _check_side(side: str) -> None:
    if side not in SIDES:
        raise TokenizerError(f"side is {side!r}; it must be one of {', '.join(SIDES)}")


def pad(
    encodings: Sequence[Encoding],
    pad_token: str,
    pad_id: int,
    length: int | None = None,
    multiple_of: int = 1,
    side: str = "right",
    pad_type_id: int = 0,
) -> list[Encoding]:
    """Fill up to `length` tokens, by default the longest of the batch, rounded up to
    `multiple_of`.

    Encodings that are longer stay as they are: padding never cuts.
    """
    _check_side(side)
    target = max(map(len, encodings), default=0) if length is None else length
    target = -(-target // multiple_of) * multiple_of
    padded = []
    for encoding in encodings:
        filling = added(
            pad_token,
            pad_id,
            pad_type_id,
            attended=False,
            count=max(0, target - len(encoding)),
        )
        whole = encoding + filling if side == "right" else filling + encoding
        overflow = pad(
            encoding.overflow, pad_token, pad_id, target, 1, side, pad_type_id
        )
        padded.append(replace(whole, overflow=overflow))
    return padded
