"""Reports: what people read of a run or an experiment. Simulated times always say so."""
