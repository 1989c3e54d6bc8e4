"""The lifespan protocol: the server's half and the application's, and nothing else."""
