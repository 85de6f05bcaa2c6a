"""Addresses of the site that bench/documents_save.py measures."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("documents/", include("documents.urls"))]
