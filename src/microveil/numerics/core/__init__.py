"""How kernels are compiled, and exact and seeded arithmetic for them."""
