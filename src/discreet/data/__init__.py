"""What there is: ratings, the public catalogue, one user's history, and where data sets come from."""
