"""What a model is trained to do: how a batch is made from text, and the loss that is taken of it.

A collator makes a batch (a dictionary of tensors) from examples and a generator of random numbers; an objective is a
function of a model and a batch that returns `Terms`. The loop that calls both is in `training`.
"""
