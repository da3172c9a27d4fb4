"""What must not leave the house goes: values that no declaration calls public, by what they tell.

Markers say it beside each layout (`msmq_wire.wire.private`); `redactor` walks the declarations, `forms` and
`web_forms` know of which values a part stays.
"""
