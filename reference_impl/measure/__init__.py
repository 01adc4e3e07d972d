"""How good and how costly: metrics of predictions, and counts of parameters,
operations, bytes and seconds.

metrics       accuracy, F1, correlations, perplexity
spans         entities in tagged text, right only as a whole
answers       the best span of an answer, exact match, F1 of words
retrieval     nDCG, recall and reciprocal rank of rankings
flops         operations and parameters, counted and by formula
cache_bytes   what a KV cache holds, and how much of it stays empty
tensors       which tensors a piece of code makes, and the most alive at once
occupancy     how many thread blocks of a kernel fit on a multiprocessor
roofline      what a step costs on a machine, and on several GPUs
scaling_law   loss by parameters and tokens, and the best split of a budget
"""
