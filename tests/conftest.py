"""How hypothesis draws its examples: the same ones every time, or with `make fuzz` new ones.

A test suite whose result depends on luck or load tells nothing about a change, so there is no deadline either.
A test may say `@settings(max_examples=…)`; the rest it takes from the profile.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

PROFILE_VARIABLE = "HYPOTHESIS_PROFILE"  # fixed or random

_timeless = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", _timeless, derandomize=True)
settings.register_profile("random", _timeless, max_examples=1000, print_blob=True)

_chosen = os.environ.get(PROFILE_VARIABLE, "fixed")
settings.load_profile(_chosen)
if _chosen == "fixed":
    # Hypothesis also draws constants that it finds in our imported modules: then the examples would depend on
    # which tests ran before in the same process, and on every edit.
    providers.is_local_module_file = lambda path: False
