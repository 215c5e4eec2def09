"""The night: recommendations for all users from one release, in bounded memory, and again after an interruption."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
