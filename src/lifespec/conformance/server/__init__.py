"""Check servers, test clients and adapters: each case runs in a process of its own."""
