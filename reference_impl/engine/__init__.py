"""An engine that serves many requests at once, and an HTTP server on it.

One request goes through the files in order:

    server             the HTTP body, its checks, the answer and its stream
      connections        below HTTP: timers for clients that are slow or silent
      limits             how much, how long; reading a body, noticing that a client has
                         gone
      protocol           which fields a request may have
      responses          the shapes of answers
      embedding          sentence vectors
      serving_metrics    numbers for Prometheus
    async_engine       from the event loop to the engine's thread and back
    engine             one step: schedule, compute, sample, stop
    scheduler          who is computed in the next step, and how much of each
      sequence           tokens, blocks and state of one continuation
      block_manager      who holds which block of the cache
      prefix_index       which block holds which prefix: hash chain or radix tree
    model_runner       from sequences to tensors, and one pass of the model
      paged_cache        the blocks' numbers
      adapters           LoRA: what is added for some sequences and not for others
      cuda_graphs        on a GPU: a decoding step's launches, recorded
    sampling           the next token of each
      speculative        guesses, and which of them are kept
    trace              what each step did

Before the first request, `loading` makes a model and its tokenizer from files.
"""
