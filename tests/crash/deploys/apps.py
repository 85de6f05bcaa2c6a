from django.apps import AppConfig


class DeploysConfig(AppConfig):
    name = "tests.crash.deploys"
    label = "deploys"
    default_auto_field = "django.db.models.BigAutoField"
