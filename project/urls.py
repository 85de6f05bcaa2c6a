"""Addresses of the example site."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("documents/", include("documents.urls")),
    path("branches/", include("project.branches.urls")),
    path("desk/", include("project.desk.urls")),
    path("plans/", include("project.plans.urls")),
    path("", include("project.accounts.urls")),
]
