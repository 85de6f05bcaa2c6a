"""Ordinary models of the suite in the admin, as a project would register them."""

from django.contrib import admin

from documents.admin import VersionedModelAdmin

from .models import Book, Shelf


class BookInline(admin.TabularInline):
    model = Book
    fields = ["title", "slug", "code", "notes"]
    extra = 0


@admin.register(Shelf)
class ShelfAdmin(VersionedModelAdmin):
    inlines = [BookInline]


@admin.register(Book)
class BookAdmin(VersionedModelAdmin):
    list_display = ["slug", "title", "copies"]
    list_editable = ["title", "copies"]
    fieldsets = [(None, {"fields": ["slug", "title", "notes", "shelf", "price", "read_at", "copies"]})]
