"""What runs in the sandbox, after the student's cells: it watches and changes their code.

The files are put into one cell (see ask.py), without their imports of each other, so that the
grader only reads plain data and the sandbox needs nothing of the course but Triton's switch.
"""
