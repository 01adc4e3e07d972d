"""What a model is trained to do: how a batch is made from text, and the loss that is
taken of it.

A collator makes a batch (a dictionary of tensors) from examples and a generator of
random numbers; an objective is a function of a model and a batch that returns `Terms`.
Collators that draw nothing take no generator. The loop that calls both is in
`training`.

    batches                what collators share: padding, masks, refusals
    terms                  what an objective returns: a sum and a count
    causal_lm              the next token; documents joined and cut into chunks
    bidirectional_lm       the next word and the one before, by two models (ELMo)
    masked_lm              blanks, by token or by word
    next_sentence          pairs of sentences: following, or in order
    sequence_to_sequence   a target from a source
    span_corruption        spans cut out, and said by a sequence-to-sequence model
    replaced_token         which tokens a generator replaced
    permutation            the tokens in an order drawn at random
    distillation           a teacher's probabilities and directions
    layer_distillation     a teacher's layers
    task_losses            labels, tags, spans and similarity, for fine-tuning
    supervised             conversations, of which the answers are learned
    logprobs               how likely given tokens are
    preferences            pairs of answers, one preferred
    reward_model           a number for an answer, from preferences
    dpo                    preferences without a reward model
    ppo                    rewards, in clipped steps, with a critic
    grpo                   rewards against those of siblings
    grpo_variants          the parts of that loss that later recipes changed

Letters in shapes: B sequences, T tokens, V entries of the vocabulary, L labels, C width
of a token.
"""
