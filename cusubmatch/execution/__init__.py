"""A checked call carried out: plans, strategies for counting, and rows on their way into dataframes."""
