"""What the home page shows at its top: the server of chapter 15, asked once with curl.

    python bench/first_answer.py        under a minute

`course serve` runs SmolLM2-135M-Instruct, with its weights in float32, at a free port. COMMAND is
what the page prints, for port 8000. The answer is greedy, so that it is the same each time. Writes
bench/results/first_answer.json: the command, the answer as it came, and its text.
"""

import argparse
import json
import shlex
import subprocess

from record import save
from served import course_serve

ADDRESS = "http://127.0.0.1:8000"
QUESTION = "What does a bank do? Answer in one short sentence."
COMMAND = f"""\
curl -s {ADDRESS}/v1/chat/completions \\
  -H "Content-Type: application/json" -d '
  {{"model": "smollm2-135m-instruct", "temperature": 0, "messages": [{{"role": "user",
   "content": "{QUESTION}"}}]}}'"""


def main() -> None:
    """Start the server, run the command, write the record."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    with course_serve() as (_, address):
        command = shlex.split(COMMAND.replace(ADDRESS, address).replace("\\\n", ""))
        command += ["--retry", "9", "--retry-connrefused"]  # it may not listen yet
        body = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    answer = json.loads(body)
    print(body)
    save(
        "first_answer",
        versions=("torch",),
        command=COMMAND,
        answer=answer,
        text=answer["choices"][0]["message"]["content"],
    )


if __name__ == "__main__":
    main()
