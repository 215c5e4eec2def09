from .auto_encoder import AutoEncoder as AutoEncoder
from .mult_vae import MultVAE as MultVAE

__all__: list[str]
