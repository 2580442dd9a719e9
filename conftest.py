"""The README saves a model beside itself; here it does so in a folder that goes away."""

import pytest


@pytest.fixture(autouse=True)
def _readme_in_a_folder_of_its_own(request, monkeypatch, tmp_path_factory):
    if request.node.path.name == "README.md":
        monkeypatch.chdir(tmp_path_factory.mktemp("readme"))
