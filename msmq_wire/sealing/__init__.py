"""Signatures of messages and encrypted bodies; what computes needs the extra ``unseal``."""
