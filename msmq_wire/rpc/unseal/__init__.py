"""Decrypts and verifies protected RPC traffic with the secrets of a user; needs the extra ``unseal``."""
