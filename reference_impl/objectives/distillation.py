"""Distillation: a small model learns what a large one thinks, not only what is right.

Hinton et al. 2015, section 2: the teacher's probabilities, softened by a temperature,
say which wrong answers are nearly right; gradients of soft targets shrink by 1 /
temperature squared, hence the factor. Sanh et al. 2019, section 3 (DistilBERT): that,
masked language modelling, and hidden vectors that point where the teacher's point.

Not here: learning from the layers inside (see `layer_distillation`), starting from the
teacher's weights (see `models.distilbert`).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, kl_div

from reference_impl.objectives.batches import Batch, ObjectiveError, needs
from reference_impl.objectives.masked_lm import chosen_terms
from reference_impl.objectives.terms import Terms, mean_terms


def soft_terms(
    student: Float[Tensor, "N V"], teacher: Float[Tensor, "N V"], temperature: float
) -> Terms:
    """KL(teacher || student) of the softmax at this temperature, times its square, for
    each of N predictions.
    """
    if temperature <= 0:
        raise ObjectiveError(f"temperature is {temperature}: give more than zero")
    if student.shape != teacher.shape:
        raise ObjectiveError(
            f"the student's logits have shape {tuple(student.shape)}, the teacher's "
            f"{tuple(teacher.shape)}: both need the same tokens and the same vocabulary"
        )
    found, wanted = (
        (logits / temperature).log_softmax(-1) for logits in (student, teacher)
    )
    total = kl_div(found, wanted, reduction="sum", log_target=True)
    return Terms(total * temperature**2, len(student))


def direction_terms(
    student: Float[Tensor, "N C"], teacher: Float[Tensor, "N C"]
) -> Terms:
    """One less the cosine of the student's and the teacher's vector, for each of N
    tokens.
    """
    if student.shape != teacher.shape:
        raise ObjectiveError(
            f"the student's vectors have shape {tuple(student.shape)}, the teacher's "
            f"{tuple(teacher.shape)}: directions are compared in one space"
        )
    return mean_terms(1 - cosine_similarity(student, teacher, dim=-1))


class StudentAndTeacher(nn.Module):
    """Both models, of which one learns: the teacher stays in evaluation mode and its
    weights get no gradient.
    """

    def __init__(self, student: nn.Module, teacher: nn.Module):
        super().__init__()
        self.student, self.teacher = student, teacher.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> "StudentAndTeacher":
        """Sets the student's mode only: a teacher with dropout would
        contradict itself.
        """
        self.student.train(mode)
        self.training = mode
        return self


def tokens_and_logits(
    model: nn.Module, batch: Batch
) -> tuple[Float[Tensor, "B T C"], Float[Tensor, "B T V"]]:
    """A masked language model's last hidden vectors and its logits, for BERT and
    DistilBERT.
    """
    if hasattr(model, "distilbert"):
        tokens = model.distilbert(batch["ids"], mask=batch["mask"])
    else:
        tokens = model.bert(batch["ids"], mask=batch["mask"]).tokens
    return tokens, model.masked_lm(tokens)


def distil_bert(
    model: StudentAndTeacher,
    batch: Batch,
    temperature: float = 2.0,
    soft_weight: float = 5.0,
    masked_weight: float = 2.0,
    direction_weight: float = 1.0,
) -> Terms:
    """DistilBERT's triple loss, with the weights of its released command; counted by
    real tokens.

    Logits and directions are compared at every real token, the masked tokens predicted
    where there is a label. The batch is that of `masked_lm`.
    """
    needs(batch, "ids", "mask", "labels")
    mask: Bool[Tensor, "B T"] = batch["mask"]
    with torch.no_grad():
        teacher_tokens, teacher_logits = tokens_and_logits(model.teacher, batch)
    tokens, logits = tokens_and_logits(model.student, batch)
    soft = soft_terms(logits[mask], teacher_logits[mask], temperature)
    joint = Terms(soft_weight * soft.total, soft.count).plus(
        chosen_terms(logits, batch["labels"]), masked_weight
    )
    return joint.plus(
        direction_terms(tokens[mask], teacher_tokens[mask]), direction_weight
    )
