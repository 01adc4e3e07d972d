"""A draft head: a small network that reads the target model's hidden states and drafts
the tokens after the next one.

Li et al. 2024 (EAGLE), section 4.1; Gloeckle et al. 2024 and DeepSeek-AI 2024, section
2.2 (multi-token prediction). At position t the head is given the target's last hidden
state h_t and the embedding of token t + 1, which is known. Its result takes the place
of h_{t+1}: the target's own output layer turns it into a distribution over token t + 2.
For one token more the head is applied again, to its own result.

EAGLE's head is a whole block and DeepSeek-V3's as well. This one leaves attention out:
h_t has attended to the context already.

Not here: how drafts are verified (see `speculative` and `draft_trees`).
"""

from jaxtyping import Float, Int
from torch import Tensor, cat, nn

from reference_impl.layers.feed_forward import GatedFeedForward
from reference_impl.layers.initial import start_normal
from reference_impl.layers.norms import RMSNorm
from reference_impl.models.gpt import GPT


class DraftHead(nn.Module):
    """The next hidden state from this one and the next token; embedding and output
    layer are the target's.
    """

    def __init__(self, hidden_size: int, intermediate_size: int):
        super().__init__()
        self.state_norm = RMSNorm(hidden_size)
        self.token_norm = RMSNorm(hidden_size)
        self.fuse = nn.Linear(2 * hidden_size, hidden_size, bias=False)
        self.feed_forward_norm = RMSNorm(hidden_size)
        self.feed_forward = GatedFeedForward(hidden_size, intermediate_size, "silu")
        self.norm = RMSNorm(hidden_size)
        start_normal(self)

    def forward(
        self, state: Float[Tensor, "*B C"], token: Float[Tensor, "*B C"]
    ) -> Float[Tensor, "*B C"]:
        """`token` is the embedding of the token that follows the state."""
        x = self.fuse(cat([self.state_norm(state), self.token_norm(token)], dim=-1))
        return self.norm(x + self.feed_forward(self.feed_forward_norm(x)))


def draft_logits(
    head: DraftHead,
    model: GPT,
    states: Float[Tensor, "B T C"],
    ids: Int[Tensor, "B T"],
    depth: int,
) -> list[Float[Tensor, "B N V"]]:
    """Logits of the drafts 1 to `depth` at all positions at once, for training.

    ids[:, t] is the token at the position of states[:, t]. Element d is about token
    t + 2 + d, given the tokens up to t + 1 + d and the target's state at t only.
    """
    logits = []
    for d in range(depth):
        states = head(
            states[:, : ids.shape[1] - 1 - d], model.embedding(ids[:, d + 1 :])
        )
        logits.append(model.output(states))
    return logits
