"""Contacts: what the plans of the example site change in a table of the site's own."""

from django.db import models


class Contact(models.Model):
    """Somebody the site knows. Whoever changes the row raises its version, so that nobody overwrites what they did not see."""

    name = models.CharField(max_length=120)
    email = models.EmailField()
    version = models.PositiveIntegerField(default=1, editable=False)

    def __str__(self) -> str:
        return self.name
