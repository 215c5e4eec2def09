from .hybrid_knn.algorithm import HybridKNN as HybridKNN
from .neighbourhood.descent import DPSGDPNBM as DPSGDPNBM
from .neighbourhood.factors import DPPSMF as DPPSMF
from .neighbourhood.factors import DPSGDMF as DPSGDMF
from .neighbourhood.sampling import DPPSPNBM as DPPSPNBM

__all__: list[str]
