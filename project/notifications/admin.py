"""The admin of notifications."""

from django.contrib import admin

from .models import Notification, Preferences


@admin.register(Preferences)
class PreferencesAdmin(admin.ModelAdmin):
    list_display = ("user", "language", "digest", "quiet_from", "quiet_until", "timezone")
    list_select_related = ("user",)
    raw_id_fields = ("user",)


@admin.register(Notification)
class NotificationAdmin(admin.ModelAdmin):
    list_display = ("key", "kind", "user", "created_at", "waits_for_digest", "digest")
    list_filter = ("kind", "waits_for_digest")
    list_select_related = ("user", "digest")
    raw_id_fields = ("user", "digest")
    ordering = ("-pk",)
    show_full_result_count = False
