"""The parts that models are made of, in the order in which a text meets them.

    checks         ids, masks and lengths that a model can't take, refused in words
    settings       what a configuration may say: kinds of settings, and one check for
                   all
    masks          which key a query may see: padding, causal, window
    positions      learned, sinusoidal, ALiBi
    relative       T5's bias, Transformer-XL's four terms
    packing        sequences end to end without padding, and attention inside each
    rotary         rotary positions in both layouts, stretched by interpolation
    attention      scaled dot-product; multi-head, grouped-query, multi-query
    norms          LayerNorm, RMSNorm
    initial        the random numbers that weights start from
    feed_forward   ReLU, GELU in both forms, GeGLU, SwiGLU
    joined         layers of one input in one product, for decoding on a GPU
    lora           a low-rank update beside a trained matrix

Letters in shapes: B sequences, T queries or tokens, S keys, C width of a token, H
heads, K heads of keys and values, D width of a head, F width inside the feed-forward, V
entries of the vocabulary.
"""
