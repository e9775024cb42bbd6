// Stopping whatever the device does now, from another thread: its client has gone.
#pragma once

bool interrupted();

extern "C" void rt_interrupt(int on);  // stays on until it is turned off
