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
    caught_by="put back",
    loses=3,
    misconception=(
        "You put back the request that came first. The one that came last gives its blocks away."
    ),
)
class OldestBack(Right):
    def victim(self, name):
        return self.running[0]


@mistake(
    QUEUE,
    "itself-put-back",
    caught_by="put back",
    loses=3,
    misconception=(
        "You always put back the one that needs the block. The running one that came last is put"
        " back."
    ),
)
class ItselfBack(Right):
    def victim(self, name):
        return name


@mistake(
    QUEUE,
    "said-is-lost",
    caught_by="put back",
    loses=3,
    misconception=(
        "Who is put back loses what it has said. It keeps its tokens and gives up blocks only."
    ),
)
class SaidLost(Right):
    def put_back(self, name):
        self.here[name][1:] = [0, 0]


@mistake(
    QUEUE,
    "prompt-alone-again",
    caught_by="put back",
    loses=3,
    misconception=(
        "Who is let in again computes its prompt only. What it had said must be computed again as"
        " well."
    ),
)
class PromptAlone(Right):
    def tokens_again(self, one):
        return one[0]


@mistake(
    QUEUE,
    "to-the-end",
    caught_by="put back",
    loses=3,
    misconception="You put who was put back at the end of those who wait. It came before them.",
)
class ToTheEnd(Right):
    def put_back(self, name):
        super().put_back(name)
        self.here[name] = self.here.pop(name)


@mistake(
    QUEUE,
    "overtakes",
    caught_by="waiting",
    loses=5,
    misconception="You let smaller requests overtake the one that does not find its blocks.",
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
    caught_by="blocks",
    loses=5.5,
    misconception=(
        "You take a block for the token that will be sampled in this step. It is computed in the"
        " next one."
    ),
)
class TooEarly(Right):
    def wants(self, one):
        return self.needs(one[0] + one[1] + 1)


@mistake(
    QUEUE,
    "blocks-of-the-prompt-only",
    caught_by="blocks",
    loses=5.5,
    misconception="You never take another block for the sampled tokens.",
)
class PromptOnly(Right):
    def wants(self, one):
        return one[2]


@mistake(
    QUEUE,
    "rounded-down",
    caught_by="plenty",
    loses=8,
    misconception="You round the number of blocks down.",
)
class RoundedDown(Right):
    def needs(self, tokens):
        return tokens // self.size


@mistake(
    QUEUE,
    "abort-leaks",
    caught_by="leave",
    loses=2,
    misconception="`abort` takes the name out and keeps its blocks.",
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
    caught_by="leave",
    loses=2,
    misconception="`abort` does nothing for a request that waits.",
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
    caught_by="leave",
    loses=1,
    misconception="`abort` raises for a name that is not there. Its request may just have ended.",
)
class UnknownRaises(Right):
    def abort(self, name):
        del self.here[name]


@mistake(
    QUEUE,
    "twice-is-replaced",
    caught_by="leave",
    loses=1,
    misconception="A name that is there already is replaced. It raises a ValueError.",
)
class Replaced(Right):
    def add(self, name, prompt):
        self.here[name] = [prompt, 0, 0]


@mistake(
    QUEUE,
    "all-tokens-for-new-ones",
    caught_by="leave",
    loses=4,
    misconception=(
        "`finish` returns all tokens, those of the prompt too. The new ones were asked for."
    ),
)
class AllTokens(Right):
    def finish(self, name):
        one = self.here.pop(name)
        return one[0] + one[1]


@mistake(
    QUEUE,
    "new-ones-first",
    caught_by="plenty",
    loses=5.5,
    misconception="You list those that were let in before those that ran.",
)
class NewFirst(Right):
    def step(self):
        before = self.running
        done = super().step()
        return sorted(done, key=lambda pair: pair[0] in before)


@mistake(
    QUEUE,
    "one-let-in-a-step",
    caught_by="plenty",
    loses=8,
    misconception="You let one request in in each step. All that find their blocks are let in.",
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
    caught_by="plenty",
    loses=8,
    remembers=True,
    misconception=(
        "All queues share one set of requests, which belongs to the class. Each has its own."
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
    caught_by="plenty",
    loses=1.5,
    misconception="`step` returns a tuple. A list was asked for.",
)
class TupleStep(Right):
    def step(self):
        return tuple(super().step())
