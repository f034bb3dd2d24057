"""What will happen: latency laws, and what is learnt of a component to feed them."""
