"""The store that many machines share, on real servers that the tests start themselves."""
