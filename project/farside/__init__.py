"""
The far sides: servers that speak Stripe's and S3's protocols on this machine, behind fronts that write down every call.

`running(folder)` starts both and stops both. The site itself never imports this package; only the demo, the
development server and the tests do.
"""

from .running import FarSideError, FarSides, running

__all__ = ["FarSideError", "FarSides", "running"]
