"""Audits check a small sample of their answers, but for the tests about that sample."""

import pytest


@pytest.fixture(autouse=True)
def small_sample(request, monkeypatch):
    if request.path.name not in ("test_checking.py", "test_folder.py", "test_forgeries.py"):
        monkeypatch.setattr("counterleaf.audit.checking.sample.SIZE", 50)
