from django.apps import AppConfig


class CrashConfig(AppConfig):
    name = "tests.crash.app"
    label = "crash"
    default_auto_field = "django.db.models.BigAutoField"
