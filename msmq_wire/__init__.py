"""MSMQ wire-format codec and packet forensics."""
