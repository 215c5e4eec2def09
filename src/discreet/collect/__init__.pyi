from .client import make_report as make_report
from .mechanisms import Piecewise as Piecewise
from .mechanisms import RandomisedResponse as RandomisedResponse
from .mechanisms import UniformNoise as UniformNoise
from .presence import HiddenItems as HiddenItems
from .reconstruction import reconstruct as reconstruct
from .reconstruction import risk_of as risk_of
from .sent import sent_reports as sent_reports
from .simulation import perturb_ratings as perturb_ratings

__all__: list[str]
