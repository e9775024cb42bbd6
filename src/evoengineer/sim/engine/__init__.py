"""From PTX to running kernels: modules, compiled images, launches, memory."""
