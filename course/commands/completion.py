"""`course completion`: a script that completes commands and options in your shell."""

SUMMARY = "print a script that completes commands and options in bash, zsh or fish"
EPILOG = """\
  bash   eval "$(course completion bash)"            in ~/.bashrc
  zsh    eval "$(course completion zsh)"             in ~/.zshrc, after compinit
  fish   course completion fish | source             in ~/.config/fish/config.fish

Exit codes: 0 printed, 2 could not run."""


def add_arguments(parser) -> None:
    """Which shell."""
    parser.add_argument(
        "shell",
        metavar="SHELL",
        choices=("bash", "zsh", "fish"),
        help="bash, zsh or fish",
        nargs="?",
        default="bash",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the commands with their options and words as JSON instead, for other shells",
    )
    parser.epilog = EPILOG


def run(args) -> int:
    """Print it."""
    import json

    from course.cli import COMMANDS, build_parser
    from course.completion import described, script

    commands = described(COMMANDS, build_parser)
    if args.json:
        print(json.dumps([vars(one) for one in commands], indent=1))
    else:
        print(script(args.shell, commands), end="")
    return 0
