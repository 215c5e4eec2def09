from .dp_vae.algorithm import DPVAE as DPVAE
from .hybrid_knn.algorithm import HybridKNN as HybridKNN
from .neighbourhood.descent import DPSGDPNBM as DPSGDPNBM
from .neighbourhood.factors import DPPSMF as DPPSMF
from .neighbourhood.factors import DPSGDMF as DPSGDMF
from .neighbourhood.sampling import DPPSPNBM as DPPSPNBM
from .objective_perturbation.algorithm import ObjectivePerturbedMF as ObjectivePerturbedMF
from .personalised.algorithm import DPPMF as DPPMF
from .personalised.algorithm import PDPPMF as PDPPMF
from .untrusted.algorithm import UntrustedMF as UntrustedMF

__all__: list[str]
