"""Options that several commands share: what they add to a parser, and what is made of them."""
