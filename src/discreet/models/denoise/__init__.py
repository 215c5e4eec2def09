"""What models make of noisy answers: post-processing, which costs no privacy."""
