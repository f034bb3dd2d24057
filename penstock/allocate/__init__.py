"""Where k more resource units go."""
