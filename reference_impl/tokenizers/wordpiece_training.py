"""Training WordPiece: join the pair whose parts belong together most, not the pair that
is most frequent.

Schuster and Nakajima 2012, "Japanese and Korean Voice Search", section 3.1: add the
unit that raises the likelihood of the training text the most. The literature after it
quotes

    score(a, b) = count(ab) / (count(a) count(b))

how much more often they stand side by side than chance would put them there. (Pointwise
mutual information of chapter 1, up to a constant.) That is not the likelihood itself:
with N symbols, each drawn by its frequency, joining a rare pair gains about count(ab)
(log(N score) - 1), and the score drops count(ab). BPE asks for count(ab) alone. "q" +
"u" is a WordPiece merge early and a BPE merge late, because "q" is rare but never
without "u".

But:
- BERT's vocabulary was made by a program that was never published. This score is what
  the literature gives for it.
- `tokenizers.trainers.WordPieceTrainer` does not use this score. It is the BPE trainer
  with "##" before the symbols inside a word. `score="frequency"` does the same here, so
  that the two can be compared.
- The score loves rare pairs: two characters that occur once, and together, score 1, the
  highest there is. Give `min_count` (10, say), or the vocabulary fills with scraps of
  rare words.
"""

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from reference_impl.tokenizers.bpe_training import IdPair, IndexedWords, learn_merges
from reference_impl.tokenizers.vocabulary import TokenizerError, Vocabulary
from reference_impl.tokenizers.wordpiece import CONTINUES, WordPiece

BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def symbols_of(word: str) -> tuple[str, ...]:
    """The characters of a word, all but the first with "##" before them: "map" gives
    "m", "##a", "##p".
    """
    return (word[0], *(CONTINUES + character for character in word[1:]))


def join(left: str, right: str) -> str:
    """The token that two neighbours make: "m" and "##ap" make "map", "##a" and "##p"
    make "##ap".
    """
    return left + right.removeprefix(CONTINUES)


def train_wordpiece(
    word_counts: Mapping[str, int],
    vocab_size: int,
    specials: Sequence[str] = BERT_SPECIALS,
    min_count: int = 1,
    score: Literal["likelihood", "frequency"] = "likelihood",
) -> WordPiece:
    """Learn a vocabulary of `vocab_size` tokens from words with their counts; pairs
    rarer than `min_count` don't join.

    The vocabulary is: the specials, which must hold "[UNK]"; the characters, sorted;
    those that continue a word, with "##", sorted; the joined pieces. Raises
    TokenizerError if `vocab_size` has no room for the characters.
    """
    words = {symbols_of(word): count for word, count in word_counts.items() if word}
    characters = sorted({character for word in word_counts for character in word})
    inside = sorted({symbol for word in words for symbol in word[1:]})
    tokens = list(dict.fromkeys([*specials, *characters, *inside]))
    if vocab_size < len(tokens):
        raise TokenizerError(
            f"vocab_size is {vocab_size}, but {len(specials)} special tokens,"
            f" {len(characters)} characters and {len(inside)} characters with"
            f" {CONTINUES} need {len(tokens)}"
        )
    if score == "frequency":
        learn_merges(words, tokens, vocab_size, join, min_count)
    else:
        learn_by_likelihood(words, tokens, vocab_size, min_count)
    return WordPiece(Vocabulary(tokens))


def learn_by_likelihood(
    words: Mapping[tuple[str, ...], int],
    tokens: list[str],
    vocab_size: int,
    min_count: int = 1,
) -> list[tuple[str, str]]:
    """The merges in order, best score first, of equals the pair with the lower ids.

    Appends the pieces to `tokens`.

    A merge makes its two parts rarer, so every other pair that holds one of them scores
    higher than before. Those are put on the heap again; entries that were right once
    and are no longer are dropped when they come to the top.
    """
    id_of = {token: i for i, token in enumerate(tokens)}
    state = IndexedWords(words, id_of)
    pairs_with: dict[int, set[IdPair]] = defaultdict(set)
    for pair in state.pair_counts:
        pairs_with[pair[0]].add(pair)
        pairs_with[pair[1]].add(pair)
    heap = [
        (-score, pair)
        for pair in state.pair_counts
        if (score := _score(state, pair, min_count))
    ]
    heapq.heapify(heap)
    merges = []
    while len(tokens) < vocab_size and heap:
        negative, pair = heapq.heappop(heap)
        score = _score(state, pair, min_count)
        if score != -negative:
            # it was too high: back to where it belongs;
            # if too low, a newer entry is right
            if 0 < score < -negative:
                heapq.heappush(heap, (-score, pair))
            continue
        left, right = tokens[pair[0]], tokens[pair[1]]
        joined = join(left, right)
        if joined not in id_of:
            id_of[joined] = len(tokens)
            tokens.append(joined)
        merges.append((left, right))
        for grown in state.merge(pair, id_of[joined]):
            pairs_with[grown[0]].add(grown)
            pairs_with[grown[1]].add(grown)
        for changed in (
            pairs_with[pair[0]] | pairs_with[pair[1]] | pairs_with[id_of[joined]]
        ):
            if score := _score(state, changed, min_count):
                heapq.heappush(heap, (-score, changed))
            elif not state.pair_counts.get(changed):
                pairs_with[changed[0]].discard(changed)
                pairs_with[changed[1]].discard(changed)
    return merges


def _score(state: IndexedWords, pair: IdPair, min_count: int) -> float:
    """count(ab) / (count(a) count(b)), 0 for a pair that is too rare.

    Equal fractions give equal floats.
    """
    count = state.pair_counts.get(pair, 0)
    return (
        count / (state.symbol_counts[pair[0]] * state.symbol_counts[pair[1]])
        if count >= max(1, min_count)
        else 0.0
    )
