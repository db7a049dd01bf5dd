"""Bad weather: what production does to a client, on request. Nothing of it is loaded before it is asked for.

`conditions` has what can be asked for. `front` performs requests in it, with a `session` that reads and writes items.
`weather` decides what happens; `recent_changes` knows how items were a moment ago, and `throttling` counts units.
"""
