"""What leaves: the release, how it is checked, saved, and asked for recommendations."""
