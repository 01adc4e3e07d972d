"""What students do with their own work before they hand it in."""
