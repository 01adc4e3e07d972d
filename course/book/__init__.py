"""How the book is built: its pages run and kept, its figures drawn, its built pages checked."""
