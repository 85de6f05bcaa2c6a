"""
Settings of the example site: everything that differs between machines comes from the environment or `.env`.

Each variable is listed in README.md, section "Settings of the example site".
"""

from pathlib import Path

import django
import environ

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
env.read_env(BASE_DIR / ".env")

DEBUG = env.bool("DEBUG", default=True)
SECRET_KEY = env.str("SECRET_KEY", default="an example site has nothing to hide; yours has")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

DATABASES = {"default": env.db_url("DATABASE_URL", default=f"sqlite:///{BASE_DIR / 'db.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # One writer at a time: take the write lock when a transaction begins, and wait for it.
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"}
    )

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "durable",
    "documents",
    "project.accounts",
    "project.branches",
    "project.desk",
    "project.notifications",
    "project.plans",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "project.security.content_security_policy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "project.accounts.blocking.PendingDeletionMiddleware",
]

ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"
ASGI_APPLICATION = "project.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "project" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

DURABLE = {
    "LEASE": env.float("DURABLE_LEASE", default=60),
    "POLL": env.float("DURABLE_POLL", default=1.0),
}

# Every mail goes through the outbox. What really sends it comes after.
_POSTING = "durable.contrib.email.OutboxEmailBackend"
_SMTP = {
    "host": env.str("EMAIL_HOST", default="localhost"),
    "port": env.int("EMAIL_PORT", default=25),
    "username": env.str("EMAIL_HOST_USER", default=""),
    "password": env.str("EMAIL_HOST_PASSWORD", default=""),
    "use_tls": env.bool("EMAIL_USE_TLS", default=False),
    "timeout": 20,
}
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="known-state@localhost")
if django.VERSION >= (6, 1):
    MAILERS = {
        "default": {"BACKEND": _POSTING},
        "smtp": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": _SMTP},
    }
    DURABLE["EMAIL"] = "smtp"
else:
    EMAIL_BACKEND = _POSTING
    EMAIL_HOST, EMAIL_PORT, EMAIL_TIMEOUT = _SMTP["host"], _SMTP["port"], _SMTP["timeout"]
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD, EMAIL_USE_TLS = _SMTP["username"], _SMTP["password"], _SMTP["use_tls"]

# The far sides. In the demo `manage.py demo` starts local servers and sets these.
STRIPE_API_KEY = env.str("STRIPE_API_KEY", default="sk_test_known_state")
STRIPE_API_BASE = env.str("STRIPE_API_BASE", default="")
S3_ENDPOINT_URL = env.str("S3_ENDPOINT_URL", default="")
S3_BUCKET = env.str("S3_BUCKET", default="known-state-users")
S3_ACCESS_KEY_ID = env.str("S3_ACCESS_KEY_ID", default="testing")
S3_SECRET_ACCESS_KEY = env.str("S3_SECRET_ACCESS_KEY", default="testing")
S3_REGION = env.str("S3_REGION", default="us-east-1")
USER_FILES_ROOT = env.path("USER_FILES_ROOT", default=str(BASE_DIR / "var" / "user-files"))
# Seconds to wait after each file deleted. Only the demo sets it: it needs time to kill the worker in between.
USER_FILES_PAUSE = env.float("USER_FILES_PAUSE", default=0)
# Resets of the development branch: off, unless this is exactly `true`.
BRANCH_RESET = env.str("BRANCH_RESET", default="")
NEON_API_BASE = env.str("NEON_API_BASE", default="https://console.neon.tech/api/v2")
NEON_API_KEY = env.str("NEON_API_KEY", default="")
NEON_PROJECT_ID = env.str("NEON_PROJECT_ID", default="")
NEON_BRANCH_ID = env.str("NEON_BRANCH_ID", default="")
# Whether each boot pass of `reconcile` looks every subscription up at Stripe; `--kind billing` always does.
BILLING_AT_BOOT = env.bool("BILLING_AT_BOOT", default=True)
TELEGRAM_API_BASE = env.str("TELEGRAM_API_BASE", default="https://api.telegram.org")
TELEGRAM_BOT_TOKEN = env.str("TELEGRAM_BOT_TOKEN", default="")
