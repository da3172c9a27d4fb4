# SPDX-License-Identifier: AGPL-3.0-or-later
"""MSMQ in dissect: a plugin of target-query (`msmq`), and the images that msmq_wire opens (`containers`).

target-query knows the plugins of its own package, and those in files or folders that ``--plugin-path`` or the
environment variable ``DISSECT_PLUGINS`` name (several with a colon between them); it asks no entry points.
Name the file ``msmq.py`` of this package, which is installed beside dissect.target::

    export DISSECT_PLUGINS=$(python -c 'import msmq_dissect; print(msmq_dissect.__path__[0])')/msmq.py
    target-query -f msmq TARGET
    target-query -f msmq TARGET --unallocated -j

What lies in a storage file is not documented, and no public one was found. That a stored packet begins with
exactly the BaseHeader of the wire is expected, not known: what is found says by its grade what it is worth,
and what is not found may be there in another form.

Importing it loads neither dissect nor msmq_wire.
"""
