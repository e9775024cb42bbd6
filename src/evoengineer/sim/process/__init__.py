"""The device process: commands come in over a socket and are carried out."""
