"""Problems that ship with EvoEngineer."""
