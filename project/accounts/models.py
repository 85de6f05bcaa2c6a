"""Accounts of the example site."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person. `deletion_pending_at` blocks the account from the moment its deletion is asked for."""

    deletion_pending_at = models.DateTimeField(null=True, blank=True, editable=False)
