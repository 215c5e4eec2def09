"""The untrusted recommender of Hua, Xia and Zhong (IJCAI 2015): S2 and S3 as published, and attacks on them."""
