"""Scripts that complete `course` in a shell, made from the parsers themselves: commands, their
options, their choices.

Where neither fits, the shell completes file names. The scripts ask nothing of Python while you
type, so they are as old as the day on which they were printed.
"""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass

BASH = """\
# bash completion for course; in ~/.bashrc: eval "$(course completion bash)"
_course() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} command="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $word != -* ]] && {{ command=$word; break; }}
    done
    local words=""
    case $command in
        "") words="{commands}" ;;
{cases}
    esac
    [[ -n $command && $current != -* ]] && words=${{words##*|}}
    COMPREPLY=($(compgen -W "${{words//|/ }}" -- "$current"))
}}
complete -o default -F _course course
"""
ZSH = """\
#compdef course
# zsh completion for course; in ~/.zshrc, after compinit: eval "$(course completion zsh)"
_course() {{
    local -a commands options
    if (( CURRENT == 2 )); then
        commands=({commands})
        _describe command commands
        return
    fi
    case $words[2] in
{cases}
    esac
    [[ $PREFIX == -* ]] && _describe option options ||
        {{ (( $#choices )) && compadd -- $choices; _files; }}
}}
compdef _course course
"""


@dataclass
class Command:
    """What can stand after one command: options with their help, and words that a value may be."""

    name: str
    summary: str
    options: dict[str, str]
    choices: list[str]


def described(
    names: Iterable[str], parser_of: Callable[[str], argparse.ArgumentParser]
) -> list[Command]:
    """What the parsers say of each command.

    parser_of: the whole parser with the arguments of one command.
    """
    return [_described(name, parser_of(name)) for name in names]


def _described(name: str, parser: argparse.ArgumentParser) -> Command:
    [commands] = [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]
    sub = commands.choices[name]
    summary = next(action.help for action in commands._choices_actions if action.dest == name)
    options, choices = {}, []
    for action in sub._actions:
        for option in action.option_strings if action.help != argparse.SUPPRESS else ():
            if option.startswith("--"):
                options[option] = action.help or ""
        if action.choices:
            choices += list(map(str, action.choices))
    return Command(name, summary, options, choices)


def script(shell: str, commands: list[Command]) -> str:
    """The text to evaluate in bash, zsh or fish."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _bash(commands: list[Command]) -> str:
    cases = "\n".join(
        f'        {one.name}) words="{" ".join(one.options)}|{" ".join(one.choices)}" ;;'
        for one in commands
    )
    return BASH.format(commands=" ".join(one.name for one in commands), cases=cases)


def _zsh(commands: list[Command]) -> str:
    cases = "\n".join(
        f"        {one.name})"
        " options=("
        f"{' '.join(_quoted(f'{option}:{_short(said)}') for option, said in one.options.items())})"
        f" choices=({' '.join(one.choices)}) ;;"
        for one in commands
    )
    return ZSH.format(
        commands=" ".join(_quoted(f"{one.name}:{_short(one.summary)}") for one in commands),
        cases=cases,
    )


def _fish(commands: list[Command]) -> str:
    lines = [
        "# fish completion for course; in ~/.config/fish/config.fish: course completion fish |"
        " source"
    ]
    for one in commands:
        lines.append(
            f"complete -c course -n __fish_use_subcommand -f -a {one.name} -d"
            f" {_quoted(_short(one.summary))}"
        )
        here = f"-n '__fish_seen_subcommand_from {one.name}'"
        lines += [
            f"complete -c course {here} -l {option[2:]} -d {_quoted(_short(said))}"
            for option, said in one.options.items()
        ]
        lines += (
            [f"complete -c course {here} -a {_quoted(' '.join(one.choices))}"]
            if one.choices
            else []
        )
    return "\n".join(lines) + "\n"


def _short(text: str) -> str:
    return " ".join(text.replace("%%", "%").split())[:80].replace(":", ",")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "") + "'"
