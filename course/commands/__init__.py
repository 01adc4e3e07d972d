"""One module a subcommand of `course`: SUMMARY, add_arguments(parser), run(args) -> exit code."""
