"""What came out: tables, pictures, pages."""
