"""Kernels in Triton, each beside a twin in plain torch that does the same steps in the
same order.

    selection                  whether layers run these kernels or torch's operators
    backend                    which implementation runs, and in tiles of what size
    vector_add                 the first kernel: a grid, offsets, masks
    softmax                    one pass over a row for its maximum and its sum
    matmul                     tiles, and an order of tiles that keeps the cache warm
    rmsnorm                    a norm and its gradient without atomics
    swiglu                     a gate and its gradient, fused
    traffic                    bytes moved: by formula, and counted in the twins
    tile_ranges                which tiles of keys a tile of queries sees: causal,
                               window, ragged ends
    flash_attention            attention that never writes the scores down
    flash_attention_backward   its gradient, with the scores computed again
    flash_attention_hopper     the same in the orders that a Hopper wants
    textbook                   flash attention and its gradient as the book shows them:
                               one head, no mask
    textbook_triton            four kernels as the book shows them
    cache_write                new keys and values into the blocks of a cache
    paged_decode               one query a sequence against a cache in blocks, split
                               over the cache
    paged_prefill              many queries a sequence against a cache in blocks
    cascade                    a prefix that many sequences share, read once

A file shows the twin first, then the kernel, then the entry point that chooses between
them. Read them in this order; Tillet et al. 2019 is the language, Dao et al. 2022 and
Dao 2023 the attention, Kwon et al. 2023 the blocks.

Letters in shapes: B sequences, N and M tokens of all sequences one after the other, T
queries and S keys of one sequence, H heads, K heads of keys and values, D width of a
head, R rows and C columns of a matrix.
"""
