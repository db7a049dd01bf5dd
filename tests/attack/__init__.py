"""Attacks: programs that try to make the client and the engine lose, repeat or invent something."""
