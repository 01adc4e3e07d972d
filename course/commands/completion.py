"""`course completion`: a script that completes commands and options in your shell."""
SUMMARY = "print a script that completes commands and options in bash, zsh or fish"
EPILOG = """\
  bash   eval "$(course completion bash)"            in ~/.bashrc
  zsh    eval "$(course completion zsh)"             in ~/.zshrc, after compinit
  fish   course completion fish | source             in ~/.config/fish/config.fish

Exit codes: 0 printed, 2 could not run."""


def add_arguments(parser) -> None:
    """Which shell."""
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    parser.epilog = EPILOG


def run(args) -> int:
    """Print it."""
    from course.cli import COMMANDS, build_parser
    from course.completion import described, script

    print(script(args.shell, described(COMMANDS, build_parser)), end="")
    return 0
