"""A capture as one HTML page to hand over: summary, findings, hosts, sessions, queues and messages.

Feed records to `Totals` and findings to `FindingSample`; `report_page` writes them and a `Story` as a page
that loads nothing. `EvictedTotals` takes what a follower let go before the end. `AtRest` is what was found in
files that are no captures.
"""
