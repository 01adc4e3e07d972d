"""How one request is to be sampled.

Names and neutral values are those of vLLM's `SamplingParams`.

Not here: beam search (see `beam`), what the values do (see `processors`, `sampler`,
`stopping`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal


class GenerationError(ValueError):
    """A parameter, prompt or row of logits from which nothing can be generated."""


NEUTRAL = {
    "temperature": (0, 1),
    "top_k": (0, -1),
    "top_p": (1,),
    "min_p": (0,),
    "typical_p": (1,),
    "repetition_penalty": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "allowed_token_ids": (None,),
    "min_tokens": (0,),
}


@dataclass(frozen=True)
class Structure:
    """The form that an answer must have: a JSON schema, a regular expression, or a JSON
    list of texts to choose from.
    """

    kind: Literal["json_schema", "regex", "choice"]
    text: str


@dataclass(frozen=True)
class SamplingParams:
    """Neutral but for max_tokens: plain sampling from the model's own distribution.

    Raises GenerationError that names the field, its value and what it may be.
    """

    temperature: int | float = 1.0  # 0: always the likeliest token
    top_k: int = 0  # 0 or -1: all
    top_p: int | float = 1.0
    min_p: int | float = 0.0
    typical_p: int | float = 1.0
    repetition_penalty: int | float = 1.0
    presence_penalty: int | float = 0.0
    frequency_penalty: int | float = 0.0
    logit_bias: Mapping[int, int | float] = field(default_factory=dict)
    allowed_token_ids: tuple[int, ...] | None = None  # None: all
    max_tokens: int = 16
    min_tokens: int = 0  # no end token before so many
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    ignore_eos: bool = False
    seed: int | None = None
    n: int = 1
    logprobs: int | None = (
        None  # how many alternatives to report; 0: only the chosen token
    )
    prompt_logprobs: int | None = (
        None  # the same for each token of the prompt but the first
    )
    structure: Structure | None = (
        # which texts may be said at all; the engine serves it, see `engine.structured`
        None
    )

    def __post_init__(self):
        for name in ("temperature", "repetition_penalty"):
            self._number(name)
        self._require(
            "temperature",
            self.temperature == 0 or self.temperature >= 1e-4,
            "0 (greedy), or at least 1e-4: below, logits overflow",
        )
        self._require("repetition_penalty", self.repetition_penalty > 0, "above 0")
        for name in ("top_p", "typical_p"):
            self._number(name)
            self._require(name, 0 < getattr(self, name) <= 1, "in (0, 1]")
        self._number("min_p")
        self._require("min_p", 0 <= self.min_p <= 1, "in [0, 1]")
        for name in ("presence_penalty", "frequency_penalty"):
            self._number(name)
            self._require(name, -2 <= getattr(self, name) <= 2, "in [-2, 2]")
        for name, least in (
            ("top_k", -1),
            ("max_tokens", 1),
            ("min_tokens", 0),
            ("n", 1),
        ):
            self._require(
                name,
                _whole(getattr(self, name), least),
                f"a whole number, {least} or more",
            )
        self._require(
            "min_tokens",
            self.min_tokens <= self.max_tokens,
            f"at most max_tokens, {self.max_tokens}",
        )
        for name in ("seed", "logprobs", "prompt_logprobs"):
            value = getattr(self, name)
            self._require(
                name,
                value is None or _whole(value, 0),
                "None or a whole number, 0 or more",
            )
        self._require("seed", self.seed is None or self.seed < 2**63, "below 2^63")
        self._require(
            "structure",
            self.structure is None or not (self.ignore_eos or self.min_tokens),
            "None with ignore_eos or min_tokens: a form ends where it ends",
        )
        self._check_tokens()

    def _check_tokens(self) -> None:
        stop = self.stop
        self._require(
            "stop",
            isinstance(stop, (tuple, list))
            and all(isinstance(s, str) and s for s in stop),
            "a tuple of strings that are not empty",
        )
        ids = self.stop_token_ids
        self._require(
            "stop_token_ids",
            isinstance(ids, (tuple, list)) and all(_whole(i, 0) for i in ids),
            "a tuple of token ids",
        )
        allowed = self.allowed_token_ids
        self._require(
            "allowed_token_ids",
            allowed is None
            or (
                isinstance(allowed, (tuple, list))
                and len(allowed) > 0
                and all(_whole(i, 0) for i in allowed)
            ),
            "None or a tuple of at least one token id",
        )
        bias = self.logit_bias
        self._require(
            "logit_bias",
            isinstance(bias, Mapping)
            and all(
                _whole(token, 0)
                and _real(value)
                and not math.isnan(value)
                and value < math.inf
                for token, value in bias.items()
            ),
            "a map of token ids to numbers below infinity",
        )

    def _number(self, name: str) -> None:
        value = getattr(self, name)
        self._require(name, _real(value) and math.isfinite(value), "a finite number")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise GenerationError(
                f"{name} is {getattr(self, name)!r}: it must be {what}"
            )

    @cached_property
    def asks_for(self) -> frozenset[str]:
        """The fields that change logits, of those that are not neutral."""
        return frozenset(
            name
            for name, neutral in NEUTRAL.items()
            if getattr(self, name) not in neutral
        )

    @property
    def greedy(self) -> bool:
        """Whether no random number is drawn."""
        return self.temperature == 0


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _real(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
