"""The rules of calls, by what they are about: each takes a call and what is known, tells what is wrong."""
