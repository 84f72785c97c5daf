"""How fast is it: one script per question, each with a probe of the machine beside it in the same run.

    python -m benchmarks                          everything
    python -m benchmarks how_fast_are_writes      one question
    python -m benchmarks --quick --json           fewer rounds; for other programs

A script `benchmarks/how_….py` has a docstring whose first line is the question, and `run(quick) -> list[Result]`.
"""
