"""A masked language model on top of an encoder that was published without its MLM head.

Only four small parts are trained: the head's transform and bias, the embedding of
[MASK], and a low-rank update of each block (LoRA, Hu et al. 2021). The encoder's own
weights and its word embeddings, which are also the decoder's, stay as they are. The
trained parts of MiniLM take 1.7 MB in half precision, the encoder 45.

Not here: training (see `bench/trained/fill_mask.py`).
"""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from reference_impl.layers.lora import add_lora, merge
from reference_impl.models.bert import Bert, BertForMaskedLM

TARGETS = ("query", "key", "value", "attention.output", "up", "down")


class WithMaskEmbedding(nn.Module):
    """A frozen table of word embeddings in which only the one of [MASK] is trained."""

    def __init__(self, table: nn.Embedding, mask_id: int):
        super().__init__()
        self.table, self.mask_id = table.requires_grad_(False), mask_id
        self.mask = nn.Parameter(table.weight[mask_id].detach().clone())

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """The table's embeddings, and the trained one wherever the token is masked."""
        return torch.where((ids == self.mask_id)[..., None], self.mask, self.table(ids))


def adapted_masked_lm(
    encoder: Bert,
    mask_id: int,
    rank: int,
    frequencies: Float[Tensor, "V"] | None = None,
) -> BertForMaskedLM:
    """The encoder with a new MLM head; what requires a gradient is the trained part.

    With `frequencies`, the head starts as a unigram model: its bias is their logarithm.
    """
    config = replace(encoder.config, hidden_dropout=0.0, attention_dropout=0.0)
    model = BertForMaskedLM(config)  # without dropout: one short pass over the text
    own = {k: v for k, v in encoder.state_dict().items() if not k.startswith("pooler")}
    model.bert.load_state_dict(own)
    add_lora(model.bert, TARGETS, rank=rank, alpha=2 * rank)
    table = model.bert.embeddings.word
    model.bert.embeddings.word = WithMaskEmbedding(table, mask_id)
    head = model.masked_lm.requires_grad_(True)
    head.decoder.weight.requires_grad_(False)
    with torch.no_grad():
        nn.init.eye_(head.dense.weight)
        if frequencies is not None:
            head.decoder.bias.copy_(frequencies.log())
    return model


def trained_parts(model: BertForMaskedLM) -> dict[str, Tensor]:
    """The trained tensors by name; everything else is the encoder's."""
    return {
        name: tensor.detach()
        for name, tensor in model.named_parameters()
        if tensor.requires_grad
    }


@torch.no_grad()
def load_trained_parts(model: BertForMaskedLM, parts: dict[str, Tensor]) -> None:
    """Put trained parts back and merge them: then it is a BERT like any other."""
    wanted = trained_parts(model)
    if wrong := sorted(wanted.keys() ^ parts.keys()):
        raise KeyError(f"{wrong[0]} is on one side only, of the file and of the model")
    for name, tensor in wanted.items():
        tensor.copy_(parts[name])
    merge(model)
    word = model.bert.embeddings.word
    word.table.weight[word.mask_id] = word.mask
    model.bert.embeddings.word = word.table
