from .choice import Choice as Choice
from .choice import quantile_of_users as quantile_of_users
from .groups import Groups as Groups
from .mechanism import Mechanism as Mechanism
from .steps import Steps as Steps
from .untrusted import UntrustedServer as UntrustedServer

__all__: list[str]
