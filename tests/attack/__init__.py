"""Attacks: hostile input, faults and interruptions, tried at random for as long as is wanted."""
