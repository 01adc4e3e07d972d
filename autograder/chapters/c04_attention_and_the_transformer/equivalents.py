"""Changes to the solutions of chapter 4 that nobody can notice, with the reason; see `autograder/authoring/mutants.py`."""

EQUIVALENT = {
    "04.rotate": {"rotate fails for a last axis of 1": "the last axis is even: its numbers come in pairs"},
    "04.distance_bias": {"torch.arange(num_keys) - queries[:, None]  =>  queries[:, None] - torch.arange(num_keys)":
                         "the sign is dropped right after"},
}
