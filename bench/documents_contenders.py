"""Who keeps a document: the two floors, documents.save, and both history packages, each given the same content."""

import json
import random
import uuid

__all__ = ["contenders", "content_of"]


def contenders():  # noqa: C901 - each contender is one small function in it
    """Create the tables; return name → (prepare(content) → save(content))."""
    import reversion
    from django.core.management import call_command
    from django.db import connection, models
    from simple_history.models import HistoricalRecords

    import documents
    from documents import statements

    class BareText(models.Model):
        content = models.TextField()

        class Meta:
            app_label = "bench"

        def __str__(self) -> str:
            return str(self.pk)

    class BareJson(models.Model):
        content = models.JSONField()

        class Meta:
            app_label = "bench"

        def __str__(self) -> str:
            return str(self.pk)

    @reversion.register
    class Reversioned(models.Model):
        content = models.JSONField()

        class Meta:
            app_label = "bench"

        def __str__(self) -> str:
            return str(self.pk)

    class Historied(models.Model):
        content = models.JSONField()
        history = HistoricalRecords(app="bench")

        class Meta:
            app_label = "bench"

        def __str__(self) -> str:
            return str(self.pk)

    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        for model in (BareText, BareJson, Reversioned, Historied, Historied.history.model):
            editor.create_model(model)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
        lz4 = cursor.fetchone()[0]
        if lz4:  # as fair to the floor as to ourselves
            cursor.execute("ALTER TABLE bench_baretext ALTER COLUMN content SET COMPRESSION lz4")

    @documents.register("bench")
    class Bench(documents.DocumentKind):
        def can_read(self, user, key):
            return True

        def can_write(self, user, key):
            return True

    def bare(model, written):
        def prepare(content):
            row = model.objects.create(content=written(content))
            return lambda content: model.objects.filter(pk=row.pk).update(content=written(content))

        return prepare

    def ours(content):
        key, at = str(uuid.uuid4()), [1]
        documents.save("bench", key, content, expected_version=0)

        def save(content):
            outcome = documents.save("bench", key, content, expected_version=at[0], save_id=uuid.uuid4(), writer="tab")
            at[0] = outcome.version

        return save

    def ours_as_text(content):
        save = ours(content)

        def save_as_text(content):
            sent = statements._sent[connection.connection]
            sent.names = False  # as on a connection that has not saved yet
            save(content)
            sent.names = True

        return save_as_text

    def reversioned(content):
        row = Reversioned.objects.create(content=content)

        def save(content):
            with reversion.create_revision():
                row.content = content
                row.save()

        return save

    def historied(content):
        row = Historied.objects.create(content=content)

        def save(content):
            row.content = content
            row.save()

        return save

    return lz4, {
        "bare UPDATE, text": bare(BareText, lambda content: json.dumps(content, ensure_ascii=False)),
        "bare UPDATE, JSONField": bare(BareJson, lambda content: content),
        "documents.save": ours,
        "documents.save, new connection": ours_as_text,
        "django-simple-history": historied,
        "django-reversion": reversioned,
    }


def content_of(size: int, seed: int) -> dict:
    """Return a sheet of about that many bytes: text, numbers, formulas."""
    rng = random.Random(seed)
    words = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "figures", "wait", "here"]
    cells, length, at = {}, 0, 0
    while length < size:
        at += 1
        value = rng.choice([at, round(at / 7, 3), f"=A{at}*B{at}", " ".join(rng.choices(words, k=12))])
        name = f"{'ABCDEFGHIJ'[at % 10]}{at // 10 + 1}"
        cells[name] = value
        length += len(name) + len(str(value)) + 6
    return {"cells": cells}
