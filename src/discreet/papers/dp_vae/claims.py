"""Claims."""
RUN_ON = ()
def claims(grid):
    return []
