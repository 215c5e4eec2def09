"""What users send: ratings perturbed at home, before anybody else sees them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
