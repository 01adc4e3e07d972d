"""What two verdicts on one student's work say otherwise, in lines for an instructor."""

from autograder.grading.grade import Verdict


def difference(before: Verdict, after: Verdict) -> list[str]:
    """What another grading changed, a line an exercise: "ada 01.ppmi: 3 -> 4 (shift: wrong ->
    passed)".
    """
    old = {result["exercise"]: result for result in before.results}
    lines = []
    for result in after.results:
        earlier = old.get(result["exercise"], {"earned": 0.0, "stages": []})
        was = {stage["name"]: stage["status"] for stage in earlier["stages"]}
        changed = [
            f"{stage['name']}: {was.get(stage['name'], 'new')} -> {stage['status']}"
            for stage in result["stages"]
            if was.get(stage["name"]) != stage["status"]
        ]
        if changed or earlier["earned"] != result["earned"]:
            lines.append(
                f"{after.student} {result['exercise']}: {earlier['earned']:g} ->"
                f" {result['earned']:g} ({', '.join(changed)})"
            )
    if before.readable != after.readable:
        lines.append(f"{after.student}: {'read' if after.readable else 'not read'} now")
    return lines
