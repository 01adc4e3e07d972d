"""Plausible wrong solutions of chapter 14, part 2: keys that forget something, or say too much."""

import hashlib
import zlib

from autograder.checks.mistakes.registry import mistake

KEYS = "14.block_keys"
BROKEN = (
    "You hash with md5 or sha1, for which two texts with the same digest can be made. Use sha256."
)


def keyed(ids, block_size, salt, part, number=None):
    """Keys by sha256 of `part(ids, start, stop)`; number: how many."""
    number = len(ids) // block_size if number is None else number
    return [
        hashlib.sha256(part(start, start + block_size)).digest()
        for start in range(0, number * block_size, block_size)
    ]


def eight(ids):
    """Tokens as bytes, eight each."""
    return b"".join(one.to_bytes(8, "big") for one in ids)


def lead(salt):
    """A salt of any length as a hash."""
    return hashlib.sha256(salt).digest()


@mistake(
    KEYS,
    "own-tokens-only",
    caught_by="beginning",
    loses=3,
    misconception="Your key holds the block's own tokens only. Those before it belong to it.",
)
def _(ids, block_size, salt):
    return keyed(ids, block_size, salt, lambda start, stop: lead(salt) + eight(ids[start:stop]))


@mistake(
    KEYS,
    "place-and-own-tokens",
    caught_by="beginning",
    loses=3,
    misconception=(
        "Your key holds the block's index and its own tokens. The tokens before it belong to it."
    ),
)
def _(ids, block_size, salt):
    return keyed(
        ids, block_size, salt, lambda start, stop: lead(salt) + eight([start, *ids[start:stop]])
    )


@mistake(
    KEYS,
    "one-block-back",
    caught_by="beginning",
    loses=3,
    misconception="Your key holds the block and the one before. All tokens before it belong to it.",
)
def _(ids, block_size, salt):
    return keyed(
        ids,
        block_size,
        salt,
        lambda start, stop: lead(salt) + eight([start, *ids[max(start - block_size, 0) : stop]]),
    )


@mistake(
    KEYS,
    "half-blocks-too",
    caught_by="blocks",
    loses=3.5,
    misconception="You give a key to the last block when it is not full.",
)
def _(ids, block_size, salt):
    return keyed(
        ids,
        block_size,
        salt,
        lambda start, stop: lead(salt) + eight(ids[:stop]),
        -(-len(ids) // block_size),
    )


@mistake(
    KEYS,
    "last-full-block-left-out",
    caught_by="blocks",
    loses=4,
    misconception=(
        "You leave out the last block where it is full. It has a key; which blocks may be found is"
        " another question."
    ),
)
def _(ids, block_size, salt):
    return keyed(
        ids,
        block_size,
        salt,
        lambda start, stop: lead(salt) + eight(ids[:stop]),
        max(len(ids) - 1, 0) // block_size,
    )


@mistake(
    KEYS,
    "eight-bits",
    caught_by="tokens",
    loses=1,
    misconception=(
        "You keep the last 8 bits of each token: tokens that differ above them have the same key."
    ),
)
def _(ids, block_size, salt):
    return keyed(
        ids,
        block_size,
        salt,
        lambda start, stop: lead(salt) + bytes(one % 256 for one in ids[:stop]),
    )


@mistake(
    KEYS,
    "thirty-two-bits",
    caught_by="tokens",
    loses=1,
    misconception="You keep 32 bits of each token. Tokens may be larger here.",
)
def _(ids, block_size, salt):
    return keyed(
        ids,
        block_size,
        salt,
        lambda start, stop: (
            lead(salt) + b"".join((one % 2**32).to_bytes(4, "big") for one in ids[:stop])
        ),
    )


@mistake(
    KEYS,
    "sum-of-tokens",
    caught_by="beginning",
    loses=2.5,
    misconception=(
        "You hash the sum of the tokens: other tokens with the same sum have the same key."
    ),
)
def _(ids, block_size, salt):
    return keyed(
        ids, block_size, salt, lambda start, stop: lead(salt) + eight([stop, sum(ids[:stop])])
    )


@mistake(
    KEYS,
    "sorted-tokens",
    caught_by="beginning",
    loses=2.5,
    misconception="You hash the tokens without their order.",
)
def _(ids, block_size, salt):
    return keyed(ids, block_size, salt, lambda start, stop: lead(salt) + eight(sorted(ids[:stop])))


@mistake(
    KEYS,
    "digits-side-by-side",
    caught_by="tokens",
    loses=1.5,
    misconception="You hash the tokens' digits side by side: 1, 23 and 12, 3 look alike.",
)
def _(ids, block_size, salt):
    return keyed(
        ids,
        block_size,
        salt,
        lambda start, stop: lead(salt) + "".join(map(str, ids[:stop])).encode(),
    )


@mistake(
    KEYS, "no-salt", caught_by="salt", loses=0.5, misconception="Your keys do not hold the salt."
)
def _(ids, block_size, salt):
    return keyed(ids, block_size, salt, lambda start, stop: eight(ids[:stop]))


@mistake(
    KEYS,
    "salt-in-the-first-block-only",
    caught_by="salt",
    loses=0.5,
    misconception="Only the first block's key holds the salt.",
)
def _(ids, block_size, salt):
    return keyed(
        ids,
        block_size,
        salt,
        lambda start, stop: (b"" if start else lead(salt)) + eight(ids[:stop]),
    )


@mistake(
    KEYS,
    "salt-as-digits",
    caught_by="salt",
    loses=0.5,
    misconception=(
        "You write the salt in front of the tokens with nothing between: it can be mistaken for"
        " them."
    ),
)
def _(ids, block_size, salt):
    return keyed(
        ids, block_size, salt, lambda start, stop: salt + ",".join(map(str, ids[:stop])).encode()
    )


@mistake(
    KEYS,
    "checksum",
    caught_by="short",
    loses=0.5,
    misconception="Your keys are checksums of 4 bytes: they can be guessed.",
)
def _(ids, block_size, salt):
    return [
        zlib.crc32(lead(salt) + eight(ids[:stop])).to_bytes(4, "big")
        for stop in range(block_size, len(ids) + 1, block_size)
    ]


def digests(ids, block_size, salt, function, hexadecimal=False):
    """Keys by another hash function."""
    made = [
        function(lead(salt) + eight(ids[:stop]))
        for stop in range(block_size, len(ids) + 1, block_size)
    ]
    return [one.hexdigest().encode() if hexadecimal else one.digest() for one in made]


@mistake(KEYS, "md5", caught_by="short", loses=0.5, misconception=BROKEN)
def _(ids, block_size, salt):
    return digests(ids, block_size, salt, hashlib.md5)


@mistake(KEYS, "md5-in-hexadecimal", caught_by="short", loses=0.5, misconception=BROKEN)
def _(ids, block_size, salt):
    return digests(ids, block_size, salt, hashlib.md5, hexadecimal=True)


@mistake(KEYS, "sha1", caught_by="short", loses=0.5, misconception=BROKEN)
def _(ids, block_size, salt):
    return digests(ids, block_size, salt, hashlib.sha1)


@mistake(
    KEYS,
    "text-itself",
    caught_by="short",
    loses=0.5,
    misconception="Your key is the text itself. It grows with it.",
)
def _(ids, block_size, salt):
    return [lead(salt) + eight(ids[:stop]) for stop in range(block_size, len(ids) + 1, block_size)]


@mistake(
    KEYS,
    "hexadecimal",
    caught_by="blocks",
    loses=4,
    misconception="You return texts. A key is a `bytes`: `digest()`, not `hexdigest()`.",
)
def _(ids, block_size, salt):
    return [
        key.hex()
        for key in keyed(ids, block_size, salt, lambda start, stop: lead(salt) + eight(ids[:stop]))
    ]
