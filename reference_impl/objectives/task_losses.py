"""What a head is fine-tuned on: a label for a text, a tag for a token, an answer's
span, how alike two texts are.

Devlin et al. 2019, section 4 and appendix A.5; Reimers and Gurevych 2019, section 3
(similarity as a regression on the cosine); Henderson et al. 2017, section 4.4 (the
batch's other partners as negatives). The models are in `models.bert_tasks` and
`models.gpt_tasks`.

Not here: metrics, finding the best span (see `measure`).
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy

from reference_impl.models.heads import similarity
from reference_impl.objectives.batches import (
    Batch,
    ObjectiveError,
    check_labels,
    model_inputs,
    needs,
    pad_rows,
    token_mask,
)
from reference_impl.objectives.terms import IGNORED, Terms, mean_terms, token_terms


def text_batch(
    rows: Sequence[Sequence[int]],
    segments: Sequence[Sequence[int]] | None = None,
    pad_id: int = 0,
) -> Batch:
    """Texts, or pairs with their segments, with special tokens: ids, mask and segments.

    Labels are put in beside.
    """
    batch = {"ids": pad_rows(rows, pad_id), "mask": token_mask(rows)}
    if segments is None:
        return batch
    if [len(row) for row in rows] != [len(row) for row in segments]:
        raise ObjectiveError(
            "ids and segments have not the same lengths: give a segment for each token"
        )
    return {**batch, "segments": pad_rows(segments, 0)}


def align_tags(word_ids: Sequence[int | None], tags: Sequence[int]) -> list[int]:
    """Labels of tokens from tags of words: a word's first piece has its tag, later
    pieces and added tokens IGNORED.

    `word_ids` are those of an encoding: the word of each token, None for added ones.
    Section 5.3 of Devlin et al.
    """
    highest = max((word for word in word_ids if word is not None), default=-1)
    if highest >= len(tags):
        raise ObjectiveError(
            f"word {highest} but {len(tags)} tags: give a tag for each word"
        )
    return [
        (
            IGNORED
            if word is None or (place and word_ids[place - 1] == word)
            else tags[word]
        )
        for place, word in enumerate(word_ids)
    ]


def sequence_classification(model: nn.Module, batch: Batch) -> Terms:
    """Cross-entropy of labels (B,); with one output, the squared error of labels that
    are real numbers.
    """
    needs(batch, "labels")
    logits, labels = (
        model(batch["ids"], **model_inputs(batch)),
        batch["labels"],
    )  # (B, L)
    if logits.shape[-1] == 1:
        if not labels.is_floating_point():
            raise ObjectiveError(
                "the model has one output, a regression, but labels are"
                f" {labels.dtype}: give real numbers, or make the model with"
                " num_labels=2 for two classes"
            )
        return mean_terms((logits.squeeze(-1) - labels).square())
    return _class_terms(logits, labels)


def multiple_choice(model: nn.Module, batch: Batch) -> Terms:
    """Cross-entropy of which ending is right: ids, mask and segments are (B, N, T),
    labels (B,).
    """
    needs(batch, "labels")
    return _class_terms(model(batch["ids"], **model_inputs(batch)), batch["labels"])


def token_classification(model: nn.Module, batch: Batch) -> Terms:
    """Cross-entropy of each token's label (B, T), where it is not IGNORED."""
    needs(batch, "ids", "mask", "labels")
    if bool(((batch["labels"] != IGNORED) & ~batch["mask"]).any()):
        raise ObjectiveError(f"padding has a label: fill labels up with {IGNORED}")
    return token_terms(model(batch["ids"], **model_inputs(batch)), batch["labels"])


def span_answering(model: nn.Module, batch: Batch) -> Terms:
    """The mean of two cross-entropies: of the answer's first token and of its last,
    `starts` and `ends` (B,).

    A softmax over the tokens, padding too, as BERT's. No answer is a span on [CLS],
    place 0.
    """
    needs(batch, "ids", "mask", "starts", "ends")
    starts, ends = batch["starts"], batch["ends"]
    if bool((ends < starts).any()):
        raise ObjectiveError("an answer ends before it starts")
    first, last = model(batch["ids"], **model_inputs(batch))  # (B, T) each
    one, other = _class_terms(first, starts), _class_terms(last, ends)
    return Terms((one.total + other.total) / 2, one.count)


def similarity_terms(
    one: Float[Tensor, "B C"], other: Float[Tensor, "B C"], labels: Float[Tensor, "B"]
) -> Terms:
    """The squared difference between two vectors' cosine and how alike the texts are,
    from -1 to 1.
    """
    if bool((labels.abs() > 1).any()):
        raise ObjectiveError(
            f"a similarity of {float(labels[labels.abs() > 1][0])}: a cosine lies"
            " between -1 and 1; divide scores of 0 to 5 by 5"
        )
    return mean_terms((cosine_similarity(one, other, dim=-1) - labels).square())


def in_batch_negatives(
    one: Float[Tensor, "B C"],
    other: Float[Tensor, "B C"],
    scale: float = 20.0,
    hard: Float[Tensor, "M C"] | None = None,
) -> Terms:
    """InfoNCE: each text should be nearer to its partner, in the same row, than to the
    others' partners, and than to the hard negatives, if there are any.

    The cross-entropy of a softmax over the cosines, times `scale`, one over the
    temperature; 20 is what Reimers and Gurevych's program takes. How a batch is cut
    matters here: a smaller one has fewer negatives.
    """
    partners = torch.arange(len(one), device=one.device)
    texts = other if hard is None else torch.cat([other, hard])
    return mean_terms(
        cross_entropy(scale * similarity(one, texts), partners, reduction="none")
    )


def label_and_language(model: Callable, batch: Batch, lm_weight: float = 0.5) -> Terms:
    """GPT-1's loss: the label's cross-entropy and, weighted, that of the inputs' own
    next tokens.

    Radford et al. 2018, equation 5, where both are sums; here each is a mean, over rows
    and over tokens. The model is one of `models.gpt_tasks`, `mask` is True where there
    is a token, `labels` are (B,).
    """
    needs(batch, "ids", "mask", "labels")
    ids, mask = batch["ids"], batch["mask"]
    output = model(ids, mask)
    language = token_terms(
        output.tokens[..., :-1, :], ids.masked_fill(~mask, IGNORED)[..., 1:]
    )
    return _class_terms(output.labels, batch["labels"]).plus(language, lm_weight)


def _class_terms(logits: Float[Tensor, "B L"], labels: Int[Tensor, "B"]) -> Terms:
    check_labels(labels, logits.shape[-1])
    return token_terms(logits, labels)
