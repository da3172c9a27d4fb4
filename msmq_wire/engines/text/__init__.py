"""Writers: functions generated from the declarations that turn values into text."""
