"""The process that loads a candidate and calls it: the C++ program, and how the judge starts and drives it."""
