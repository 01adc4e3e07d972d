"""What a finished run is asked, its report card, and its text for a notebook (hand_in)."""
