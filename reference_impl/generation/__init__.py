"""From logits to text: choosing tokens one after the other, and stopping.

sampling_params    how one request is to be sampled, checked
processors         what changes logits before the choice, each row by its own parameters
sampler            the choice, by each row's own random numbers; log-probabilities
cache              keys and values that are not computed again
layout             how matrices lie in memory, for one token a sequence
stopping           end tokens, stop strings, text without half characters
plain              the loop on one screen
loop               one token after the other for a batch of prompts, at once or streamed
beam               beam search
constrained        a choice among given answers
encoder_decoder    greedy decoding with T5 or a Transformer
scoring            how likely given continuations are
search             votes over samples, search in a tree of thoughts
"""
