"""What the class's secret draws for one student of one assignment, and nothing of the secret
itself.

Judging needs no more than this table. So a machine that judges for us gets the table of the one
submission that it judges: from it nobody learns what is asked of anybody else.
"""

from dataclasses import asdict, dataclass

from autograder.grading.assignment import Assignment, seed_id


@dataclass(frozen=True)
class Seeds:
    """For one student.

    ids: by exercise, a name for the seeds that tells nothing about them. hidden: by exercise and
    stage, what hidden inputs are drawn from. faults: by exercise with a drawn fault, its name.
    """

    ids: dict[str, str]
    hidden: dict[str, dict[str, int]]
    faults: dict[str, str]

    @classmethod
    def drawn(cls, assignment: Assignment, student: str, secret: bytes) -> "Seeds":
        """The table of a student under a class's secret."""
        from autograder.checks.protocol import rng_for

        exercises = assignment.exercises
        return cls(
            {id: seed_id(secret, student, id) for id in exercises},
            {
                id: {
                    stage.name: rng_for(id, stage.name, student, secret=secret).initial_seed()
                    for stage in one.stages
                }
                for id, one in exercises.items()
            },
            {
                id: one.faults.draw(id, student, secret).name
                for id, one in exercises.items()
                if one.faults
            },
        )

    def rng(self, exercise: str, stage: str):
        """A fresh torch.Generator for a stage; the same numbers each time."""
        import torch

        return torch.Generator().manual_seed(self.hidden[exercise][stage])

    def to_json(self) -> dict:
        """Plain dictionaries."""
        return asdict(self)
