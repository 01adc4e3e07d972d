"""TinyBERT: a shallow, narrow student learns from its teacher's layers.

Jiao et al. 2020, section 3.1, equations 7 to 9: attention scores before the softmax and
hidden vectors are made the same, layer m of the student's M with layer g(m) = m N / M
of the teacher's N; a learned matrix widens the student's vectors. The embeddings count
as layer 0. Errors are means of squares.

The models are not changed for it: hooks note what each block reads while the model
runs.

Not here: learning from logits (see `distillation`), making text for the tasks (section
3.2).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from reference_impl.layers.attention import MultiHeadAttention, split_heads
from reference_impl.objectives.batches import Batch, ObjectiveError, model_inputs
from reference_impl.objectives.distillation import StudentAndTeacher
from reference_impl.objectives.terms import Terms


def layer_map(student_layers: int, teacher_layers: int) -> list[int]:
    """For the embeddings and each layer of the student, the teacher's layer it learns
    from: 0, N/M, 2N/M, ..., N.
    """
    if teacher_layers % student_layers:
        raise ObjectiveError(
            f"{teacher_layers} layers of a teacher are not a multiple of the student's "
            f"{student_layers}: then no even mapping exists"
        )
    return list(range(0, teacher_layers + 1, teacher_layers // student_layers))


@contextmanager
def noted_layers(blocks: nn.ModuleList) -> Iterator[list[Float[Tensor, "B T C"]]]:
    """A list that is filled, while the model runs inside, with what the first block
    reads and what each block gives.
    """
    noted: list[Tensor] = []
    hooks = [
        blocks[0].register_forward_pre_hook(lambda block, given: noted.append(given[0]))
    ]
    hooks += [
        block.register_forward_hook(lambda block, given, made: noted.append(made))
        for block in blocks
    ]
    try:
        yield noted
    finally:
        for hook in hooks:
            hook.remove()


def attention_scores(
    attention: MultiHeadAttention, x: Float[Tensor, "B T C"]
) -> Float[Tensor, "B H T T"]:
    """q . k / sqrt(D) of every two tokens, before mask and softmax."""
    q = split_heads(attention.query(x), attention.num_heads)  # (B, H, T, D)
    k = split_heads(attention.key(x), attention.num_heads)
    return q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5


def hidden_terms(
    student: Sequence[Float[Tensor, "B T C"]],
    teacher: Sequence[Float[Tensor, "B T W"]],
    widen: nn.Linear,
    mask: Bool[Tensor, "B T"],
) -> Terms:
    """For each real token the squared error of its vector, a mean over the width,
    summed over the layers.
    """
    errors = [
        (widen(ours[mask]) - theirs[mask]).square().mean(-1)
        for ours, theirs in zip(student, teacher, strict=True)
    ]
    return Terms(torch.stack(errors).sum(), int(mask.sum()))


def attention_terms(
    student: Sequence[Float[Tensor, "B H T T"]],
    teacher: Sequence[Float[Tensor, "B H T T"]],
    mask: Bool[Tensor, "B T"],
) -> Terms:
    """For each pair of real tokens the squared error of its score, a mean over the
    heads, summed over the layers.
    """
    heads = student[0].shape[1], teacher[0].shape[1]
    if heads[0] != heads[1]:
        raise ObjectiveError(
            f"the student has {heads[0]} heads and the teacher {heads[1]}: scores are"
            " compared head by head"
        )
    seen = mask[:, :, None] & mask[:, None, :]  # (B, T, T)
    errors = [
        (ours - theirs).square().mean(1)[seen]
        for ours, theirs in zip(student, teacher, strict=True)
    ]
    return Terms(torch.stack(errors).sum(), int(seen.sum()))


class TinyBert(StudentAndTeacher):
    """A student and a teacher with `blocks` of BERT's kind, and the matrix between
    their widths.

    `student` and `teacher` are encoders; the matrix is trained and then thrown away.
    """

    def __init__(self, student: nn.Module, teacher: nn.Module):
        super().__init__(student, teacher)
        self.layers = layer_map(len(student.blocks), len(teacher.blocks))
        self.widen = nn.Linear(
            student.config.hidden_size, teacher.config.hidden_size, bias=False
        )


def tiny_bert(model: TinyBert, batch: Batch) -> Terms:
    """Hidden vectors and attention scores of all mapped layers, each weighted by one;
    counted by real tokens.
    """
    inputs, mask = model_inputs(batch), batch["mask"]
    with torch.no_grad(), noted_layers(model.teacher.blocks) as all_theirs:
        model.teacher(batch["ids"], **inputs)
        theirs = [all_theirs[layer] for layer in model.layers]
        their_scores = [
            attention_scores(
                model.teacher.blocks[layer - 1].attention, all_theirs[layer - 1]
            )
            for layer in model.layers[1:]
        ]
    with noted_layers(model.student.blocks) as ours:
        model.student(batch["ids"], **inputs)
    scores = [
        attention_scores(block.attention, x)
        for block, x in zip(model.student.blocks, ours)
    ]
    return hidden_terms(ours, theirs, model.widen, mask).plus(
        attention_terms(scores, their_scores, mask)
    )
