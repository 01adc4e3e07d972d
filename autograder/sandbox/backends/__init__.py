"""Ways to isolate a worker: bubblewrap, a warm fork, a container, seccomp, the stage."""
