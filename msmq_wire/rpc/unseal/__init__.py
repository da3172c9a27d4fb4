"""Opens and verifies protected RPC traffic with the secrets a user has; needs the extra ``unseal``."""
