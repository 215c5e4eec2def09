from .one_run import audit_in_one_run as audit_in_one_run
from .results import Audit as Audit
from .runs import audit_by_runs as audit_by_runs
from .sensitivity import check_sensitivity as check_sensitivity

__all__: list[str]
