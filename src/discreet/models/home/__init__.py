"""What a user does at home with a release and their own ratings."""
