"""The floor's two tables as Django sees them. Unmanaged: the SQL in bench/floors/schema.py makes them."""

from django.db import models
from django.db.models.functions import Now

__all__ = ["Effect", "Run"]


class Run(models.Model):
    id = models.UUIDField(primary_key=True)
    status = models.TextField()
    fence = models.BigIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    s1_at = models.DateTimeField(null=True)
    s2_at = models.DateTimeField(null=True)
    s3_at = models.DateTimeField(null=True)
    s4_at = models.DateTimeField(null=True)
    s5_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        db_table = "floor_run"

    def __str__(self) -> str:
        return f"run {self.pk}"


class Effect(models.Model):
    id = models.BigAutoField(primary_key=True)
    run = models.TextField()
    step = models.IntegerField()
    body = models.TextField()

    class Meta:
        managed = False
        db_table = "bench_effect"

    def __str__(self) -> str:
        return f"step {self.step} of {self.run}"
