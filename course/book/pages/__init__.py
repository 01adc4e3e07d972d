"""What a page imports: figures, plots, claims, predictions, records, and models to show."""
