"""Operations on the factors of a count by variable elimination, on a GPU."""
