"""A site with documents and both history packages, in a fresh database."""

__all__ = ["configure"]


def configure(url: str) -> None:
    """Set Django up with documents and both peers."""
    import django
    import psycopg
    from django.conf import settings

    parts = psycopg.conninfo.conninfo_to_dict(url)
    apps = ["contenttypes", "auth", "sessions", "messages", "staticfiles", "admin"]
    settings.configure(
        SECRET_KEY="bench",
        ROOT_URLCONF="bench.documents_urls",
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
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        STATIC_URL="static/",
        ALLOWED_HOSTS=["*"],
        DOCUMENTS={"MAX_BYTES": 5_000_000},
        SILENCED_SYSTEM_CHECKS=["documents.W001"],
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS documents_save")
        connection.execute("CREATE DATABASE documents_save")
    django.setup()
