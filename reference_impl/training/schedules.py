"""The learning rate at each step: it climbs while the optimiser's averages are still
empty, then comes down.

Warm-up and linear decay: Devlin et al. 2019, appendix A.2. Cosine decay: Loshchilov and
Hutter 2017, equation 5, without restarts; Radford et al. 2018, section 4.1. Warm-up,
stable, decay (WSD): Hu et al. 2024, section 4.2; here the decay is linear and takes the
last fifth of the steps. The values are those of `transformers`' schedules: with a
warm-up the first step's rate is zero.

Not here: restarts, rates by layer (see `fine_tuning`).
"""

import math

SCHEDULES = ("cosine", "linear", "constant", "wsd")
WSD_DECAY = 0.2


def learning_rate(
    step: int,
    num_steps: int,
    peak: float,
    warmup_steps: int = 0,
    schedule: str = "cosine",
    minimum: float = 0.0,
) -> float:
    """The rate of step `step`, counted from 0: from 0 to `peak` over the warm-up, from
    there to `minimum` at the end.

    Raises ValueError for a schedule that is none of SCHEDULES.
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule {schedule!r} is none of {', '.join(SCHEDULES)}")
    if step < warmup_steps:
        return peak * step / warmup_steps
    if schedule == "constant":
        return peak
    if schedule == "wsd":
        decay_steps = round(WSD_DECAY * num_steps)
        left = min(1.0, max(0.0, (num_steps - step) / max(1, decay_steps)))
        return minimum + (peak - minimum) * left
    done = min((step - warmup_steps) / max(1, num_steps - warmup_steps), 1.0)
    left = 0.5 * (1 + math.cos(math.pi * done)) if schedule == "cosine" else 1 - done
    return minimum + (peak - minimum) * left
