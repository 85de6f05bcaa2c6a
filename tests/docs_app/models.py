"""Ordinary models of the suite, as a project would have them."""

import uuid

from django.db import models


class Shelf(models.Model):
    name = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.name


class Book(models.Model):
    """One field of every sort that a document can hold."""

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=100)
    notes = models.TextField(blank=True)
    shelf = models.ForeignKey(Shelf, models.SET_NULL, null=True, blank=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    published = models.DateField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    length = models.DurationField(null=True, blank=True)
    code = models.UUIDField(default=uuid.uuid4, unique=True)
    copies = models.BigIntegerField(default=1)
    rating = models.FloatField(null=True, blank=True)
    lent = models.BooleanField(default=False)
    extra = models.JSONField(default=dict, blank=True)
    touched_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.title
