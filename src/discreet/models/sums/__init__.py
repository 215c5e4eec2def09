"""What models ask a population for: bounded sums over users, each with its proof, and plans of what to ask next."""
