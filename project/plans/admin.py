"""Contacts in the admin. Plans are there by themselves: see durable.adminplans."""

from django.contrib import admin
from django.db.models import F

from .models import Contact


@admin.register(Contact)
class ContactAdmin(admin.ModelAdmin):
    """An editor's change raises the version like any other, so that a plan reviewed before it stops."""

    list_display = ("name", "email", "version")
    search_fields = ("name", "email")

    def save_model(self, request, obj, form, change) -> None:
        super().save_model(request, obj, form, change)
        if change:
            Contact.objects.filter(pk=obj.pk).update(version=F("version") + 1)
