"""The structures of remote read, each declared once for NDR and NDR64."""
