"""What is withheld in the exercises of this chapter: the course's own answers, and torch's fused
operators.
"""

OURS = dict.fromkeys(
    (
        "reference_impl.engine",
        "reference_impl.kernels",
        "reference_impl.layers",
        "reference_impl.models",
        "reference_impl.generation",
        "reference_impl.measure.cache_bytes",
    ),
    "it is the course's own answer",
)
FUSED = dict.fromkeys(
    (
        "torch.nn.functional.scaled_dot_product_attention",
        "torch.nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.attention",
        "transformers",
    ),
    "it gives the answer that you are asked to write",
)
BY_TORCH = dict.fromkeys(
    (
        "torch.softmax",
        "torch.Tensor.softmax",
        "torch.nn.functional.softmax",
        "torch.log_softmax",
        "torch.logsumexp",
        "torch.exp",
        "torch.amax",
        "torch.max",
        "torch.Tensor.index_copy_",
        "torch.Tensor.index_put_",
        "torch.Tensor.scatter_",
        "torch.Tensor.index_select",
        "torch.index_select",
        "torch.gather",
    ),
    "your kernel is to do this",
)
