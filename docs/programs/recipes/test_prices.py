from fastapi.testclient import TestClient
from prices import app, state_prices


def test_state():
    with TestClient(app) as client:
        assert client.get("/apples").json() == 3
        with client.websocket_connect("/apples") as websocket:
            assert websocket.receive_json() == 3


def test_other_prices(monkeypatch):
    other = {state_prices: lambda: {"apples": 5}}
    monkeypatch.setattr(app, "dependency_overrides", other)
    assert TestClient(app).get("/apples").json() == 5
