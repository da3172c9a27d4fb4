"""The rules of calls, by what they are about. Each is asked of a call, with what is known by then."""
