"""``discreet demo``."""


def demo() -> None:
    """Compare models on MovieLens-100K, recommend for one user and write a report with pictures."""
