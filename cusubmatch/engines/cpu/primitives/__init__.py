"""What all compiled CPU functions are made with."""
