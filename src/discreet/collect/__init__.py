"""What users send: ratings perturbed at home, before anybody else sees them."""
