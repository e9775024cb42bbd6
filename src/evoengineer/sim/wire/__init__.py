"""What a client and the device process say to each other."""
