"""Answers of a given form: of a JSON schema, of a regular expression, or one of some
choices.

A grammar says after every token which tokens may follow; all others get -inf before one
is chosen. So each answer that ends by itself has the form, whatever the model would
have liked to say. One that is cut off by max_tokens has not.

The automaton is llguidance's (https://github.com/guidance-ai/llguidance, MIT), which
finds the allowed tokens of a vocabulary of 50,000 in well under a millisecond. Here is
what an engine needs around it: grammars made once and copied for each sequence, masks
as tensors, guesses of a drafter tried and taken back.

Not here: whether the form helps or hurts what is said; grammars of programming
languages.
"""

import json
import threading
from collections.abc import Iterable
from collections.abc import Sequence as Ids

import torch
from jaxtyping import Bool
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper
from torch import Tensor

from reference_impl.engine.sequence import Sequence
from reference_impl.engine.token_bytes import token_bytes
from reference_impl.generation.sampling_params import GenerationError, Structure
from reference_impl.tokenizers.tokenizer import Tokenizer

LARGEST = 65_536
"""Characters of a schema or expression: what a stranger may have compiled."""
LIMITS = LLParserLimits(
    initial_lexer_fuel=200_000,
    step_lexer_fuel=20_000,
    step_max_items=10_000,
    max_lexer_states=20_000,
    max_grammar_size=100_000,
    verbose_errors=False,
)
"""A tenth or so of llguidance's own: while a grammar looks for the tokens that may
follow, all other requests wait."""
REMEMBERED = 64


class _Vocabulary:
    """A tokenizer as llguidance asks for one."""

    bos_token_id = None

    def __init__(self, tokenizer: Tokenizer, eos_id: int):
        self.eos_token_id = eos_id
        specials = {tokenizer.vocabulary.id(token) for token in tokenizer.specials} | {
            eos_id
        }
        self.special_token_ids = sorted(specials)
        # Two tokens must not look alike to the automaton: a special one is its own name
        # behind a byte no text has.
        self.tokens = [
            (
                b"\xff" + tokenizer.vocabulary.token(id).encode()
                if id in specials
                else token_bytes(tokenizer, id)
            )
            for id in range(len(tokenizer.vocabulary))
        ]
        self._tokenizer = tokenizer

    def __call__(self, text: bytes) -> list[int]:
        return self._tokenizer.encode(
            text.decode(errors="replace"), add_specials=False, specials_in_text=False
        ).ids


class StructuredOutput:
    """The grammars of an engine's sequences.

    Made on first use: it looks at every token of the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer, eos_ids: Iterable[int], vocab_size: int):
        eos_ids = list(eos_ids)
        if not eos_ids:
            raise ValueError(
                "an answer of a given form ends by an end token, and this engine was"
                " given none"
            )
        self.vocab_size = vocab_size
        known = len(tokenizer.vocabulary)
        self._words = -(-known // 32)  # a bit a token
        self._tokenizer = LLTokenizer(
            TokenizerWrapper(_Vocabulary(tokenizer, eos_ids[0])),
            n_vocab=known,
            eos_token=eos_ids,
        )
        self._compiled: dict[Structure, LLMatcher] = {}
        self._one_at_a_time = (
            threading.Lock()
        )  # a server compiles beside the engine's thread
        self._matchers: dict[Sequence, LLMatcher] = {}

    def compile(self, structure: Structure) -> LLMatcher:
        """The grammar at its start.

        ValueError with llguidance's word if it is none, is too large, or accepts no
        answer.
        """
        with self._one_at_a_time:
            found = self._compiled.get(structure)
            if found is None:
                if len(self._compiled) >= REMEMBERED:
                    self._compiled.pop(next(iter(self._compiled)))
                found = self._compiled[structure] = self._make(structure)
            return found

    def _make(self, structure: Structure) -> LLMatcher:
        if len(structure.text) > LARGEST:
            raise ValueError(
                f"the {structure.kind} has {len(structure.text):,} characters, at most"
                f" {LARGEST:,}"
            )
        made = LLMatcher(
            self._tokenizer, _grammar(structure), log_level=0, limits=LIMITS
        )
        if made.is_error():
            raise ValueError(
                f"the {structure.kind} can't be used: {_sentence(made.get_error())}"
            )
        if structure.kind == "json_schema":
            _check_bounds(json.loads(structure.text))
        try:
            begins = bool(self._mask(made.deep_copy()).any())
        except GenerationError as error:
            raise ValueError(
                f"the {structure.kind} can't be used, no answer begins so: {error}"
            ) from error
        if not begins:
            raise ValueError(
                f"the {structure.kind} can't be used: there is no answer that it"
                " accepts"
            )
        return made

    def allowed(self, sequence: Sequence) -> Bool[Tensor, "V"] | None:
        """Which tokens may follow; None if the sequence has no grammar.

        GenerationError if the grammar gave up.
        """
        if sequence.params.structure is None:
            return None
        return self._mask(self._matcher(sequence))

    def allowed_after(
        self, sequence: Sequence, guesses: Ids[int]
    ) -> list[Bool[Tensor, "V"]]:
        """Which tokens may follow before the first guess and after each one, up to the
        first that the grammar refuses.
        """
        matcher = self._matcher(sequence).deep_copy()
        masks = [self._mask(matcher)]
        for guess in guesses:
            if (
                not bool(masks[-1][guess])
                or matcher.try_consume_tokens([guess]) != 1
                or matcher.is_stopped()
            ):
                break
            masks.append(self._mask(matcher))
        return masks

    def advance(self, sequence: Sequence, tokens: Ids[int]) -> None:
        """These tokens were said."""
        if sequence.params.structure is not None:
            self._matcher(sequence).try_consume_tokens(list(tokens))

    def forget(self, sequence: Sequence) -> None:
        """The sequence has finished."""
        self._matchers.pop(sequence, None)

    def _matcher(self, sequence: Sequence) -> LLMatcher:
        if sequence not in self._matchers:
            self._matchers[sequence] = self.compile(
                sequence.params.structure
            ).deep_copy()
        return self._matchers[sequence]

    def _mask(self, matcher: LLMatcher) -> Bool[Tensor, "V"]:
        bits = torch.zeros(self._words, dtype=torch.int32)
        matcher.unsafe_compute_mask_ptr(bits.data_ptr(), 4 * self._words)
        if matcher.is_error():
            raise GenerationError(
                f"the grammar gave up: {_sentence(matcher.get_error())[:200]}"
            )
        mask = (
            (bits[:, None] >> torch.arange(32) & 1).bool().flatten()[: self.vocab_size]
        )
        return torch.nn.functional.pad(
            mask, (0, self.vocab_size - len(mask))
        )  # rows past the vocabulary are no tokens


def _sentence(error: str) -> str:
    """llguidance's error without its own marks."""
    words = error.replace("NoExtensionBias", "").replace("<non-verbose/>", "").split()
    return " ".join(words)[:300] or "the grammar's library gives no reason"


def with_ascii_digits(regex: str) -> str:
    r"""A regular expression in which `\d` is 0 to 9, as in a JSON schema's `pattern`.

    llguidance's own is any digit of Unicode. `\D` within brackets stays its opposite.
    """
    made: list[str] = []
    in_class = opened = False
    escaped = False
    for character in regex:
        if escaped:
            escaped = opened = False
            plain = {"d": "0-9"} if in_class else {"d": "[0-9]", "D": "[^0-9]"}
            made.append(plain.get(character, "\\" + character))
            continue
        if character == "\\":
            escaped = True
            continue
        if character == "[" and not in_class:
            in_class = opened = True
        elif character == "]" and in_class and not opened:
            in_class = False
        elif character != "^":
            opened = False  # a bracket that closes right after the opening is a sign
        made.append(character)
    return "".join(made) + "\\" * escaped


BYTES = LLTokenizer("byte")
DATA_KEYWORDS = {"const", "enum", "default", "examples"}


def _check_bounds(schema: object) -> None:
    """ValueError for exclusive bounds that llguidance would let a number reach."""
    if isinstance(schema, list):
        for each in schema:
            _check_bounds(each)
    if not isinstance(schema, dict):
        return
    bounds = {
        name: schema[name]
        for name in ("exclusiveMinimum", "exclusiveMaximum")
        if type(schema.get(name)) in (int, float)
    }
    kind = "integer" if schema.get("type") == "integer" else "number"
    for name, bound in bounds.items():
        if _accepts({"type": kind, **bounds}, json.dumps(bound)):
            raise ValueError(
                f"the json_schema can't be used: {name} {bound} would not be kept"
                f" together with {bounds}; use minimum and maximum"
            )
    for key, value in schema.items():
        if key not in DATA_KEYWORDS:
            _check_bounds(value)


def _accepts(schema: dict, text: str) -> bool:
    matcher = LLMatcher(
        BYTES, LLMatcher.grammar_from_json_schema(json.dumps(schema)), log_level=0
    )
    tokens = BYTES.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


def _grammar(structure: Structure) -> str:
    if structure.kind == "regex":
        return LLMatcher.grammar_from_regex(with_ascii_digits(structure.text))
    if structure.kind == "choice":
        return LLMatcher.grammar_from_lark(
            "start: " + " | ".join(map(json.dumps, json.loads(structure.text)))
        )
    try:
        # Without room for white space a model can't fill its answer with it.
        return LLMatcher.grammar_from_json_schema(
            structure.text, overrides={"whitespace_flexible": False}
        )
    except ValueError as error:
        raise ValueError(f"the {structure.kind} is no JSON: {error}") from error
