// Host functions and stream callbacks: run by a thread of the client when the device reaches them.
#pragma once

// True in a thread that is running a host function.
bool in_host_call();
// Starts the thread that serves the device's requests, if it does not run yet.
void serve_host_calls();
