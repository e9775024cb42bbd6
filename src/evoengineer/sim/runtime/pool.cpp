// The host threads that run launches.
#include "pool.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "scheduler.h"

namespace {

// Compilation is called back on these threads' own stacks.
constexpr size_t kThreadStackBytes = 64u << 20;

struct Pool {
    std::mutex mutex;
    std::condition_variable wake, idle;
    std::vector<Worker*> workers;  // 0 is whoever calls
    void (*part)(Worker&, void*) = nullptr;
    void* argument = nullptr;
    uint64_t ticket = 0;           // counts jobs
    uint32_t places = 0;           // helpers that may still join this job
    uint32_t busy = 0;
};

Pool& pool() {
    static Pool* only = new Pool;  // never destroyed: its threads never end
    return *only;
}

void* helper_main(void* argument) {
    auto& worker = *static_cast<Worker*>(argument);
    Pool& p = pool();
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(p.mutex);
    for (;;) {
        p.wake.wait(lock, [&] { return p.places && p.ticket != seen; });
        seen = p.ticket;
        p.places--;
        p.busy++;
        auto part = p.part;
        void* job = p.argument;
        lock.unlock();
        part(worker, job);
        lock.lock();
        if (--p.busy == 0) p.idle.notify_all();
    }
}

void add_worker(Pool& p) {
    auto* worker = new Worker;
    if (!p.workers.empty()) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, kThreadStackBytes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_t thread;
        int failed = pthread_create(&thread, &attributes, helper_main, worker);
        pthread_attr_destroy(&attributes);
        if (failed) {
            delete worker;
            return;  // fewer helpers: slower, nothing else
        }
    }
    p.workers.push_back(worker);
}

}  // namespace

void run_on_workers(uint32_t count, void (*part)(Worker&, void*), void* argument) {
    Pool& p = pool();
    std::unique_lock<std::mutex> lock(p.mutex);
    for (size_t before = ~size_t(0); p.workers.size() < count && p.workers.size() != before;) {
        before = p.workers.size();
        add_worker(p);
    }
    p.part = part;
    p.argument = argument;
    p.places = count - 1;
    p.ticket++;
    Worker& own = *p.workers[0];
    lock.unlock();
    if (count > 1) p.wake.notify_all();
    part(own, argument);
    lock.lock();
    p.places = 0;
    p.idle.wait(lock, [&] { return p.busy == 0; });
}
