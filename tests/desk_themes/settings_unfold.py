"""The suite's site with django-unfold in front of the admin."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = ["unfold", *INSTALLED_APPS]
# A theme runs scripts and styles of its own that the example site's policy forbids.
MIDDLEWARE = [one for one in MIDDLEWARE if one != "project.security.content_security_policy"]
