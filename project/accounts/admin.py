"""Accounts in the admin: the people, and the runs that outlive them."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from durable.admin import RunAdmin

from .models import AccountDeletion, LegalHold, Subscription, SubscriptionOpening, User

admin.site.register(User, UserAdmin)
admin.site.register([AccountDeletion, SubscriptionOpening], RunAdmin)


@admin.register(Subscription)
class SubscriptionAdmin(admin.ModelAdmin):
    """What people pay for. Stripe decides; nothing is edited here."""

    list_display = ("subscription", "customer", "user", "plan", "status", "synced_at")

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def has_add_permission(self, request) -> bool:
        return False


@admin.register(LegalHold)
class LegalHoldAdmin(admin.ModelAdmin):
    """Why an account must stay."""

    list_display = ("user", "reason", "since")
    autocomplete_fields = ("user",)
