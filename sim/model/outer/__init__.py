"""Lanes of products in two phases cycle by cycle: their requests, the bus they share, and the ledger of rows."""
