"""Releases on a user's own device: one compact file, a JavaScript module that reads it, and a page."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
