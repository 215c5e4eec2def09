"""Everything in the paper and where it is."""
CONTENTS = ()
