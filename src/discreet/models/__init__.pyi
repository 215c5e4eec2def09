from .auto_encoder import AutoEncoder as AutoEncoder
from .mult_vae import MultVAE as MultVAE
from .pmf import PMF as PMF
from .private_vae import PrivateVAE as PrivateVAE

__all__: list[str]
