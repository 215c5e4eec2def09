"""Whether it leaks: lower bounds on epsilon, measured by attacking what a model releases."""
