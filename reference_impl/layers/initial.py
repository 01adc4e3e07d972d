"""The numbers that training starts from."""

from torch import nn


def start_normal(model: nn.Module, std: float = 0.02) -> None:
    """Normal numbers of this deviation in linear layers and embeddings, zero in biases;
    norms stay at one and zero.

    BERT (released program, truncated there at two deviations), GPT-1 (section 4.1),
    GPT-2 and LLaMA start so.
    """
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=std)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
