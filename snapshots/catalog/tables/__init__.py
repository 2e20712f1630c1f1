"""Tables of Delta Lake: opened, followed and written at a cost that stays flat."""
