"""The programs of a secure sum on a network: recommender, third party and users. What they say is in protocol/."""
