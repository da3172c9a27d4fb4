"""The language of ``--filter`` over the declared columns: `compiling.compile_filter`.

The rule kept here: whoever has no filter loads nothing of what it knows of packets.
"""
