from both import app
from starlette.testclient import TestClient


def test_both():
    with TestClient(app) as client:
        assert client.get("/").text == "Starlette: 3"
        assert client.get("/admin/").text == "Django: 3"
