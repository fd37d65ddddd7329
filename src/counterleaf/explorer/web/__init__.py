"""The local server: routes, access control, static files and error responses."""
