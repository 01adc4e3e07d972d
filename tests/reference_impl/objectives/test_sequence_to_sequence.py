"""The smoothed loss by its formula; the plain one is compared with T5's in test_span_corruption."""

import torch

from reference_impl.objectives.sequence_to_sequence import PairedSequences, sequence_to_sequence
from reference_impl.objectives.terms import token_terms


class Fixed(torch.nn.Module):
    """The same logits whatever is asked."""

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def forward(self, source, target, source_mask):
        return self.logits


def test_smoothing_gives_a_share_of_the_labels_weight_to_every_entry_and_leaves_padding_out(
    generator,
):
    batch = PairedSequences(end_id=1)([([5], [4, 2]), ([5], [])])  # four labels: 4 2 1, and 1
    logits = torch.randn(2, 3, 7, generator=generator, dtype=torch.float64)
    logprobs = logits.log_softmax(-1)
    right = logprobs[0, 0, 4] + logprobs[0, 1, 2] + logprobs[0, 2, 1] + logprobs[1, 0, 1]
    spread = logprobs[0].mean(-1).sum() + logprobs[1, 0].mean()
    found = sequence_to_sequence(Fixed(logits), batch, smoothing=0.1)
    torch.testing.assert_close(found.total, -(0.9 * right + 0.1 * spread))
    assert found.count == 4


def test_a_joint_loss_is_the_sum_of_the_means(generator):
    logits = torch.randn(5, 3, generator=generator)
    one = token_terms(logits, torch.tensor([0, 1, -100, 2, 2]))
    other = token_terms(logits, torch.tensor([1, -100, -100, 0, -100]))
    joint = one.plus(other, 3.0)
    torch.testing.assert_close(joint.mean, one.mean + 3 * other.mean)
    assert joint.count == 4
    nothing = token_terms(logits, torch.full((5,), -100))
    assert one.plus(nothing).mean == one.mean
