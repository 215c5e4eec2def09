"""Secure sums: messages, masks, and the state machines of users and servers. Nothing here does input or output."""
