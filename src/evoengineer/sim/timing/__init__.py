"""Simulated time: what a launch would take on the card, and why.

    sampling    which blocks of a grid are counted
    counters    what they did, read from the runtime
    ptxas       NVIDIA's assembler: registers, spills, machine code
    sass        that machine code: instructions, waits, the PTX line behind each; opcodes: which pipe each uses
    code        a kernel's PTX and machine code side by side; arithmetic: floating-point operations of PTX
    machine     how often its basic blocks ran, and how long one warp takes through them
    memory      caches and DRAM: what of the traffic goes where, and spills, whose accesses nobody traced
    latency     clocks per instruction; pipes: clocks of a multiprocessor per block
    shape       a launch on a card; analysis: from counters and code to the work that is asked for
    model       the time, term by term
    profiler    from launch to launch: what repeats, and what L2 still holds
    profile     LaunchProfile, the record that others read; report: made from an analysis
    explain     findings in plain English; light: the least time a problem needs

No wall clock enters anywhere: the same launch takes the same simulated time on every machine.
"""
