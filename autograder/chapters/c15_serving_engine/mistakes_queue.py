"""Plausible wrong solutions of chapter 15, part 1: the queue."""

from autograder.checks.mistakes.registry import mistake

QUEUE = "15.Queue"


class Right:
    """A right queue, for mistakes to change: requests as lists [prompt, said, held] by name."""

    def __init__(self, blocks, block_size):
        self.blocks, self.size, self.here = blocks, block_size, {}

    @property
    def free(self):
        return self.blocks - sum(one[2] for one in self.here.values())

    @property
    def running(self):
        return [name for name, one in self.here.items() if one[2]]

    @property
    def waiting(self):
        return [name for name, one in self.here.items() if not one[2]]

    def needs(self, tokens):
        return -(-tokens // self.size)

    def add(self, name, prompt):
        if name in self.here:
            raise ValueError(name)
        self.here[name] = [prompt, 0, 0]

    def victim(self, name):
        return self.running[-1]

    def put_back(self, name):
        self.here[name][2] = 0

    def tokens_again(self, one):
        return one[0] + one[1]

    def wants(self, one):
        return self.needs(one[0] + one[1])

    def decode(self, done):
        for name in self.running:
            while self.here[name][2] and self.wants(self.here[name]) > self.here[name][2]:
                if self.free > 0:
                    self.here[name][2] += 1
                else:
                    self.put_back(self.victim(name))
            if self.here[name][2]:
                done.append((name, 1))

    def admit(self, done):
        for name in self.waiting:
            one = self.here[name]
            if self.needs(one[0] + one[1]) > self.free:
                break
            one[2] = self.needs(one[0] + one[1])
            done.append((name, self.tokens_again(one)))

    def step(self):
        done = []
        self.decode(done)
        self.admit(done)
        for name, _ in done:
            self.here[name][1] += 1
        return done

    def finish(self, name):
        said = self.here[name][1]
        self.abort(name)
        return said

    def abort(self, name):
        self.here.pop(name, None)


@mistake(
    QUEUE,
    "oldest-put-back",
    caught_by="preemption",
    loses=3,
    misconception=(
        "You preempt the request that came first. The running request that came last gives up"
        " its blocks."
    ),
)
class OldestBack(Right):
    def victim(self, name):
        return self.running[0]


@mistake(
    QUEUE,
    "itself-put-back",
    caught_by="preemption",
    loses=3,
    misconception=(
        "You always preempt the request that needs the block. Preempt the running one that"
        " came last."
    ),
)
class ItselfBack(Right):
    def victim(self, name):
        return name


@mistake(
    QUEUE,
    "said-is-lost",
    caught_by="preemption",
    loses=3,
    misconception=(
        "Your preempted request loses its generated tokens. It keeps them and gives up only its"
        " blocks."
    ),
)
class SaidLost(Right):
    def put_back(self, name):
        self.here[name][1:] = [0, 0]


@mistake(
    QUEUE,
    "prompt-alone-again",
    caught_by="preemption",
    loses=3,
    misconception=(
        "Your readmitted request computes only its prompt. Its generated tokens must be"
        " recomputed as well."
    ),
)
class PromptAlone(Right):
    def tokens_again(self, one):
        return one[0]


@mistake(
    QUEUE,
    "to-the-end",
    caught_by="preemption",
    loses=3,
    misconception=(
        "You put a preempted request at the end of the queue. It came before all that wait."
    ),
)
class ToTheEnd(Right):
    def put_back(self, name):
        super().put_back(name)
        self.here[name] = self.here.pop(name)


@mistake(
    QUEUE,
    "overtakes",
    caught_by="admission order",
    loses=5,
    misconception=(
        "You admit smaller requests past one that does not find its blocks. No request may"
        " overtake."
    ),
)
class Overtakes(Right):
    def admit(self, done):
        for name in self.waiting:
            one = self.here[name]
            if self.needs(one[0] + one[1]) <= self.free:
                one[2] = self.needs(one[0] + one[1])
                done.append((name, one[0] + one[1]))


@mistake(
    QUEUE,
    "block-too-early",
    caught_by="one more block",
    loses=5.5,
    misconception=(
        "You take a block for the token generated in this step. It is computed, and needs"
        " room, in the next one."
    ),
)
class TooEarly(Right):
    def wants(self, one):
        return self.needs(one[0] + one[1] + 1)


@mistake(
    QUEUE,
    "blocks-of-the-prompt-only",
    caught_by="one more block",
    loses=5.5,
    misconception="You never take another block for generated tokens.",
)
class PromptOnly(Right):
    def wants(self, one):
        return one[2]


@mistake(
    QUEUE,
    "rounded-down",
    caught_by="enough blocks",
    loses=8,
    misconception="You round the number of blocks down. A part of a block needs a whole one.",
)
class RoundedDown(Right):
    def needs(self, tokens):
        return tokens // self.size


@mistake(
    QUEUE,
    "abort-leaks",
    caught_by="finish and abort",
    loses=2,
    misconception="Your `abort` removes the name but does not free its blocks.",
)
class Leaks(Right):
    def abort(self, name):
        one = self.here.pop(name, None)
        if one:
            self.blocks -= one[2]

    def finish(self, name):
        return self.here.pop(name)[1]


@mistake(
    QUEUE,
    "aborted-runs-on",
    caught_by="finish and abort",
    loses=2,
    misconception="Your `abort` ignores a waiting request. Remove it from the queue.",
)
class RunsOn(Right):
    def abort(self, name):
        if name in self.running:
            del self.here[name]

    def finish(self, name):
        return self.here.pop(name)[1]


@mistake(
    QUEUE,
    "unknown-raises",
    caught_by="finish and abort",
    loses=1,
    misconception=(
        "Your `abort` raises for an unknown name. Its request may have finished just before."
    ),
)
class UnknownRaises(Right):
    def abort(self, name):
        del self.here[name]


@mistake(
    QUEUE,
    "twice-is-replaced",
    caught_by="finish and abort",
    loses=1,
    misconception=("Your `add` replaces a name that is waiting or running. Raise a ValueError."),
)
class Replaced(Right):
    def add(self, name, prompt):
        self.here[name] = [prompt, 0, 0]


@mistake(
    QUEUE,
    "all-tokens-for-new-ones",
    caught_by="finish and abort",
    loses=4,
    misconception=(
        "Your `finish` counts the prompt as well. Return the number of generated tokens only."
    ),
)
class AllTokens(Right):
    def finish(self, name):
        one = self.here.pop(name)
        return one[0] + one[1]


@mistake(
    QUEUE,
    "new-ones-first",
    caught_by="enough blocks",
    loses=5.5,
    misconception="You list admitted requests first. Those that were running come before them.",
)
class NewFirst(Right):
    def step(self):
        before = self.running
        done = super().step()
        return sorted(done, key=lambda pair: pair[0] in before)


@mistake(
    QUEUE,
    "one-let-in-a-step",
    caught_by="enough blocks",
    loses=8,
    misconception="You admit one request per step. All that find their blocks are admitted.",
)
class OneAStep(Right):
    def admit(self, done):
        before = len(done)
        for name in self.waiting[:1]:
            super().admit(extra := [])
            done += extra[:1]
            for other, _ in extra[1:]:
                self.here[other][2] = 0
        assert len(done) <= before + 1


@mistake(
    QUEUE,
    "shared",
    caught_by="enough blocks",
    loses=8,
    remembers=True,
    misconception=(
        "Your queues share one set of requests, such as an attribute of the class. Each needs"
        " its own."
    ),
)
def shared():
    """A class whose queues share their requests."""
    everybody = {}

    class Shared(Right):
        def __init__(self, blocks, block_size):
            super().__init__(blocks, block_size)
            self.here = everybody

    return Shared


@mistake(
    QUEUE,
    "tuples-for-lists",
    caught_by="enough blocks",
    loses=1.6,
    misconception="`step` returns a tuple. It should return a list.",
)
class TupleStep(Right):
    def step(self):
        return tuple(super().step())
