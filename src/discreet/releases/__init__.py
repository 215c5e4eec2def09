"""What leaves: the release, how it is checked, saved, and asked for recommendations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
