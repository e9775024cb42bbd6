"""Cards: their profiles, how many blocks fit on them, and the names of devices."""
