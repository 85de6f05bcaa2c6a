"""Addresses of the desk."""

from django.urls import path

from . import views

app_name = "desk"

urlpatterns = [
    path("", views.desk, name="desk"),
    path("sheet/<str:key>/", views.sheet, name="sheet"),
    path("record/<str:key>/", views.record, name="record"),
]
