"""The kinds of questions, by what they ask about: values, lines, changes and inputs."""
