from .guarantee import LevelLoss as LevelLoss
from .guarantee import Loss as Loss
from .quantiles import private_count as private_count
from .quantiles import private_mean as private_mean
from .quantiles import private_quantile as private_quantile
from .selection import choose as choose
from .signing import PublicKey as PublicKey
from .signing import SigningKey as SigningKey
from .spend import Spend as Spend

__all__: list[str]
