// What a program advised of managed memory, and where it prefetched it to. Both change nothing, since managed memory
// is one memory here, but a program may ask what it said.
#include <algorithm>
#include <vector>

#include "client.h"

namespace {

constexpr int kNowhere = -2, kHost = -1;  // as cudaInvalidDeviceId, cudaCpuDeviceId
enum Kind { kReadMostly, kPreferred, kAccessedBy, kPrefetch };
enum LocationType { kNone = 0, kDevice = 1, kOnHost = 2 };

struct Advice {
    uintptr_t begin, end;
    Kind kind;
    int value;  // of kReadMostly 0 or 1, else a place
};

std::vector<Advice>& given() {
    static auto* all = new std::vector<Advice>;
    return *all;
}

// The latest word on a range replaces what was said of any part that it covers.
void remember(const void* data, size_t bytes, Kind kind, int value) {
    const auto begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
    auto covered = [&](const Advice& old) { return old.kind == kind && old.begin >= begin && old.end <= end; };
    auto& all = given();
    all.erase(std::remove_if(all.begin(), all.end(), covered), all.end());
    all.push_back({begin, end, kind, value});
}

int latest(const void* data, size_t bytes, Kind kind, int otherwise) {
    const auto begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
    for (auto each = given().rbegin(); each != given().rend(); ++each)
        if (each->kind == kind && each->begin <= begin && each->end >= end) return each->value;
    return otherwise;
}

int advise(const void* data, size_t bytes, int advice, int place) {
    if (!data || !bytes || advice < 1 || advice > 6) return cudaErrorInvalidValue;
    const bool set = advice % 2 == 1;
    if (advice <= 2)
        remember(data, bytes, kReadMostly, set);
    else
        remember(data, bytes, advice <= 4 ? kPreferred : kAccessedBy, set ? place : kNowhere);
    return cudaSuccess;
}

int location_type(int place) { return place == kNowhere ? kNone : place == kHost ? kOnHost : kDevice; }

int answer(int* result, size_t bytes, int attribute, const void* data, size_t count) {
    if (!result || bytes < 4 || !data || !count) return cudaErrorInvalidValue;
    const int preferred = latest(data, count, kPreferred, kNowhere);
    const int prefetched = latest(data, count, kPrefetch, kNowhere);
    switch (attribute) {
        case 1: *result = latest(data, count, kReadMostly, 0); break;
        case 2: *result = preferred; break;
        case 3:  // a list of devices
            std::fill(result, result + bytes / 4, kNowhere);
            *result = latest(data, count, kAccessedBy, kNowhere);
            break;
        case 4: *result = prefetched; break;
        case 5: *result = location_type(preferred); break;
        case 6: *result = preferred < 0 ? 0 : preferred; break;
        case 7: *result = location_type(prefetched); break;
        case 8: *result = prefetched < 0 ? 0 : prefetched; break;
        default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

int place_of(cudaMemLocation where) { return where.type == kDevice ? where.id : kHost; }
#if EVO_CUDART_MAJOR >= 13
using Where = cudaMemLocation;
#else
using Where = int;
int place_of(int device) { return device; }
#endif

}  // namespace

API cudaError_t cudaMemAdvise(const void* data, size_t bytes, int advice, Where where) {
    ENTER();
    return done(advise(data, bytes, advice, place_of(where)));
}

#if EVO_CUDART_MAJOR >= 13
API cudaError_t cudaMemPrefetchAsync(const void* data, size_t bytes, Where where, unsigned, cudaStream_t) {
#else
API cudaError_t cudaMemPrefetchAsync(const void* data, size_t bytes, Where where, cudaStream_t) {
#endif
    ENTER();
    if (!data || !bytes) return done(cudaErrorInvalidValue);
    remember(data, bytes, kPrefetch, place_of(where));
    return cudaSuccess;
}
PER_THREAD(cudaMemPrefetchAsync)

API cudaError_t cudaMemRangeGetAttribute(void* result, size_t bytes, int attribute, const void* data, size_t count) {
    ENTER();
    return done(answer(static_cast<int*>(result), bytes, attribute, data, count));
}

API cudaError_t cudaMemRangeGetAttributes(void** results, size_t* bytes, int* attributes, size_t wanted,
                                          const void* data, size_t count) {
    ENTER();
    for (size_t i = 0; i < wanted; ++i)
        if (int status = answer(static_cast<int*>(results[i]), bytes[i], attributes[i], data, count)) return done(status);
    return cudaSuccess;
}

API cudaError_t cudaMemPrefetchBatchAsync(void** data, size_t* bytes, size_t count, cudaMemLocation* places,
                                          size_t* firsts, size_t places_count, unsigned long long, cudaStream_t) {
    ENTER();
    if (!data || !bytes || !places || !firsts || !places_count) return done(cudaErrorInvalidValue);
    for (size_t i = 0, place = 0; i < count; ++i) {  // each place holds from its first range on
        while (place + 1 < places_count && firsts[place + 1] <= i) ++place;
        remember(data[i], bytes[i], kPrefetch, place_of(places[place]));
    }
    return cudaSuccess;
}
PER_THREAD(cudaMemPrefetchBatchAsync)
