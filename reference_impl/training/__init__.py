"""How a model learns: one loop for all of them, and what it needs, in the order in
which a step meets it.

schedules      the learning rate at each step: warm-up, then cosine, linear or constant
optimizer      AdamW and its groups: what decays and what does not; clipping
loop           `train`: micro-batches to gradients to weights; start here
checkpoint     stop at any moment, go on as if nothing had happened
logs           history as CSV and for TensorBoard, a progress bar
distributed    the same loop in several processes: replicas (DDP) or shards (FSDP2)
fine_tuning    a pretrained body under a new head: freezing, rates by layer, epochs over
               a set
"""
