"""What a round costs: bytes of the messages, and milliseconds at a user's and at the third party's."""
