"""What is withheld in the exercises of this chapter: the course's own layers and models, and
torch's ready ones where they are asked for.
"""

LAYERS = dict.fromkeys(
    (
        *(
            f"reference_impl.layers.{name}"
            for name in (
                "attention",
                "masks",
                "norms",
                "packing",
                "positions",
                "relative",
                "rotary",
            )
        ),
        "reference_impl.models",
        "reference_impl.kernels",
        "reference_impl.measure.flops",
    ),
    "it is the course's own answer",
)
FUSED = dict.fromkeys(
    (
        "torch.nn.functional.scaled_dot_product_attention",
        "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.MultiheadAttention",
        "torch.nn.TransformerEncoderLayer",
        "torch.nn.TransformerDecoderLayer",
        "torch._native_multi_head_attention",
        "torch.ops.aten._scaled_dot_product_attention_math",
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
        "torch.ops.aten._scaled_dot_product_flash_attention",
        "torch.nn.attention.flex_attention.flex_attention",
    ),
    "it is the attention that you are asked to write",
)
NORMS = dict.fromkeys(
    (
        "torch.nn.functional.layer_norm",
        "torch.nn.LayerNorm",
        "torch.layer_norm",
        "torch.native_layer_norm",
        "torch.nn.functional.rms_norm",
        "torch.nn.RMSNorm",
        "torch.rms_norm",
        "torch.nn.functional.group_norm",
        "torch.nn.GroupNorm",
        "torch.group_norm",
        "torch.native_group_norm",
        "torch.nn.functional.instance_norm",
        "torch.instance_norm",
        "torch.nn.functional.batch_norm",
        "torch.batch_norm",
    ),
    "it is the norm that you are asked to write",
)
COUNTERS = dict.fromkeys(
    (
        "torch.utils.flop_counter.FlopCounterMode",
        "torch.nn.TransformerEncoderLayer",
        "torch.nn.MultiheadAttention",
    ),
    "it counts what you are asked to work out",
)
