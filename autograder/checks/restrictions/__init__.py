"""What an exercise does not allow, and how that is enforced."""
