"""Quizzes, flashcards, the mock exam, the ledger of claims and the tables of chapter 16."""
