"""A sandbox seen from outside: processes, time, memory, lifetime."""
