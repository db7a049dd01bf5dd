"""The integer program of a component: the keys and their prices, the variables, and the search by its goals."""
