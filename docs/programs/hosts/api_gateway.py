"""An event as AWS API Gateway sends it to a function."""

__all__ = ["EVENT"]

EVENT = {
    "version": "2.0",
    "routeKey": "$default",
    "rawPath": "/",
    "rawQueryString": "",
    "headers": {"host": "shop.example"},
    "requestContext": {
        "stage": "$default",
        "domainName": "shop.example",
        "http": {
            "method": "GET",
            "path": "/",
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
        },
    },
    "isBase64Encoded": False,
}
