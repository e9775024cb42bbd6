// Memory that nobody has written (--check init): which bits of memory are defined, and of registers which are not.
//
// As in valgrind's memcheck, reading such memory does no harm by itself. Compiled code keeps for every register that
// may be concerned a vector of its *undefined* bits (codegen/undefined.py): loads take it from the shadow of memory,
// stores put it there, other instructions pass it on. It is reported where an undefined bit decides something:
// `rt_undefined_used`. The shadow of memory has a byte for each byte, whose bits say which are *defined*.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "checks.h"
#include "totals.h"
#include "lanes.h"
#include "matrix.h"

extern "C" {
void rt_shfl(Warp*, uint32_t, uint32_t, uint32_t*, uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*);
void rt_mma(Warp*, uint32_t, uint64_t, uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*);
void rt_wmma_mma(Warp*, uint32_t, uint64_t, uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*);
}

namespace {

// Where a thread read undefined bits.
struct Origin {
    uint32_t site, function;
    uint64_t address, bytes;
};

// The last few places of a thread, the latest last; a place counts once.
struct Origins {
    static constexpr uint32_t kMost = 8;
    Origin list[kMost];
    uint32_t count;

    void add(const Origin& origin) {
        uint32_t at = 0;
        while (at < count && list[at].site != origin.site) at++;
        if (at == kMost) at = 0;
        if (at < count) memmove(&list[at], &list[at + 1], (count - at - 1) * sizeof(Origin));
        else count++;
        list[count - 1] = origin;
    }
};

}  // namespace

struct UndefinedReads {
    Origins of[kMaxWarps * kLanes];
};

namespace {

// The shadows of a warp's address spaces, found once per instruction.
struct Shadows {
    uint64_t shared_base, shared_bytes, local_base, local_bytes;
    uint8_t *shared, *local;

    explicit Shadows(WarpState* w)
        : shared_base(w->shared_base), shared_bytes(w->shared_bytes),
          local_base(reinterpret_cast<uint64_t>(w->memory->locals)),
          local_bytes(uint64_t(w->memory->locals_end - w->memory->locals)),
          shared(w->block->races->defined.data()), local(w->memory->local_shadow) {}

    // Null where everything counts as defined.
    uint8_t* at(uint64_t address) const {
        if (address - shared_base < shared_bytes) return shared + (address - shared_base);
        if (address - local_base < local_bytes) return local ? local + (address - local_base) : nullptr;
        return memory_shadow(address);
    }
};

bool all_defined(const uint8_t* shadow, uint64_t bytes) {
    for (; bytes >= 8; bytes -= 8, shadow += 8) {
        uint64_t word;
        memcpy(&word, shadow, 8);
        if (~word) return false;
    }
    for (; bytes; bytes--, shadow++)
        if (*shadow != 0xff) return false;
    return true;
}

void note_read(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes) {
    RaceState& r = *w->block->races;
    if (!r.undefined) r.undefined = new UndefinedReads();
    uint32_t function = w->activation ? w->activation->function : 0;
    r.undefined->of[w->warp_index * kLanes + lane].add({site, function, address, bytes});
}

// What launches put into device memory: the first few thousand, until somebody takes them.
constexpr size_t kMostNotes = 4096;
std::mutex notes_mutex;
std::vector<UndefinedNote> notes;

void note_store(WarpState* w, uint32_t site, uint32_t lane, uint64_t address, uint64_t bytes) {
    if (!in_device_arena(address)) return;
    std::lock_guard<std::mutex> lock(notes_mutex);
    if (notes.size() >= kMostNotes) return;
    uint32_t function = w->activation ? w->activation->function : 0;
    UndefinedNote note{address, bytes, site, kNoSite, function, {w->ctaid[0], w->ctaid[1], w->ctaid[2]}, {}, 0};
    auto* tids = reinterpret_cast<const uint32_t*>(w->tids);
    for (uint32_t i = 0; i < 3; i++) note.tid[i] = tids[i * kLanes + lane];
    if (const UndefinedReads* reads = w->block->races->undefined) {
        const Origins& origins = reads->of[w->warp_index * kLanes + lane];
        if (origins.count) note.read_site = origins.list[origins.count - 1].site;
    }
    notes.push_back(note);
}

// The undefined bits of `bytes` bytes, or null if there are none.
const uint8_t* undefined_at(WarpState* w, const Shadows& shadows, uint32_t site, uint32_t lane, uint64_t address,
                            uint64_t bytes, uint8_t* room) {
    const uint8_t* shadow = shadows.at(address);
    if (!shadow || all_defined(shadow, bytes)) return nullptr;
    note_read(w, site, lane, address, bytes);
    for (uint64_t i = 0; i < bytes; i++) room[i] = uint8_t(~shadow[i]);
    return room;
}

bool is_candidate(uint32_t site, const uint32_t* sites, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (sites[i] == site) return true;
    return false;
}

const Origin* latest(const Origins& origins, const uint32_t* sites, uint32_t count) {
    for (uint32_t i = origins.count; i-- > 0;)
        if (is_candidate(origins.list[i].site, sites, count)) return &origins.list[i];
    return nullptr;
}

// Where the value came from: a read of the thread itself, else (shuffles, matrix loads) one of its block.
const Origin* find_origin(const WarpState* w, uint32_t lane, const uint32_t* sites, uint32_t count) {
    const RaceState& r = *w->block->races;
    if (!r.undefined) return nullptr;
    const Origin* found = latest(r.undefined->of[w->warp_index * kLanes + lane], sites, count);
    for (uint32_t i = 0; i < kLanes && !found; i++)
        found = latest(r.undefined->of[w->warp_index * kLanes + i], sites, count);
    for (uint32_t i = 0; i < w->block->warp_count * kLanes && !found; i++)
        found = latest(r.undefined->of[i], sites, count);
    return found;
}

enum Use : uint32_t { kBranch = 0, kGuard, kAddress, kReduction, kTarget, kCoordinate };

const char* use_text(uint32_t use) {
    switch (use) {
        case kBranch: return "decides a branch";
        case kGuard: return "decides whether an instruction is carried out";
        case kAddress: return "is used as an address";
        case kReduction: return "decides the result of a barrier";
        case kTarget: return "is used as the address of a function";
    }
    return "is used as a coordinate";
}

}  // namespace

void begin_init_checks(RaceState& r, uint64_t shared_bytes) {
    r.defined.assign(shared_bytes, 0);
    delete r.undefined;
    r.undefined = nullptr;
}

void begin_local_checks(WarpState* w, uint64_t base, uint64_t bytes, bool defined) {
    if (!bytes) return;
    warp_memory_need_shadow(*w->memory);
    if (uint8_t* shadow = Shadows(w).at(base)) memset(shadow, defined ? 0xff : 0, bytes);
    charge_filling(w, bytes);
}

void copy_defined(WarpState* w, uint64_t to, uint64_t from, uint32_t take, uint32_t bytes) {
    const Shadows shadows(w);
    uint8_t *target = shadows.at(to), *source = shadows.at(from);
    if (!target) return;
    memset(target, 0xff, bytes);
    if (source) memcpy(target, source, take);
}

extern "C" {

// `count` elements of `element` bytes per lane: out[element][lane] receives the undefined bits.
void rt_undefined_load(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses, uint8_t* out,
                       uint32_t element, uint32_t count) {
    WarpState* w = state(warp);
    const Shadows shadows(w);
    const uint32_t bytes = element * count;
    memset(out, 0, size_t(bytes) * kLanes);
    for_each_lane(mask, [&](uint32_t lane) {
        uint8_t room[64];
        const uint8_t* bits = undefined_at(w, shadows, site, lane, addresses[lane], bytes, room);
        for (uint32_t i = 0; bits && i < count; i++)
            memcpy(out + (size_t(i) * kLanes + lane) * element, bits + i * element, element);
    });
}

// The reverse; `undefined` may be null: everything is defined.
void rt_undefined_store(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses, const uint8_t* undefined,
                        uint32_t element, uint32_t count) {
    const Shadows shadows(state(warp));
    const uint32_t bytes = element * count;
    for_each_lane(mask, [&](uint32_t lane) {
        uint8_t* shadow = shadows.at(addresses[lane]);
        if (!shadow) return;
        memset(shadow, 0xff, bytes);
        if (!undefined) return;
        for (uint32_t i = 0; i < bytes; i++)
            shadow[i] = uint8_t(~undefined[(size_t(i / element) * kLanes + lane) * element + i % element]);
        if (!all_defined(shadow, bytes)) note_store(state(warp), site, lane, addresses[lane], bytes);
    });
}

// kind: 0 the result hangs on all bits of old value and operands, 1 on the operands only (exch), 2 bit by bit.
void rt_undefined_atomic(Warp* warp, uint32_t site, uint32_t mask, const uint64_t* addresses, const uint8_t* operands,
                         uint8_t* out, uint32_t element, uint32_t kind) {
    WarpState* w = state(warp);
    const Shadows shadows(w);
    if (out) memset(out, 0, size_t(element) * kLanes);
    for_each_lane(mask, [&](uint32_t lane) {
        uint8_t room[8] = {}, given[8] = {};
        const uint8_t* old = undefined_at(w, shadows, site, lane, addresses[lane], element, room);
        if (operands) memcpy(given, operands + size_t(lane) * element, element);
        if (old && out) memcpy(out + size_t(lane) * element, old, element);
        uint8_t* shadow = shadows.at(addresses[lane]);
        if (!shadow) return;
        uint8_t any = 0;
        for (uint32_t i = 0; i < element; i++) any |= uint8_t(given[i] | (kind == 1 ? 0 : room[i]));
        for (uint32_t i = 0; i < element; i++)
            shadow[i] = kind == 0 ? (any ? 0 : 0xff) : uint8_t(~(given[i] | (kind == 2 ? room[i] : 0)));
        if (any) note_store(w, site, lane, addresses[lane], element);
    });
}

// Undefined bits of these lanes decide something at `site`; they came from a read at one of `sites`.
void rt_undefined_used(Warp* warp, uint32_t site, uint32_t lanes, uint32_t use, const uint32_t* sites,
                       uint32_t count) {
    WarpState* w = state(warp);
    uint32_t lane = uint32_t(__builtin_ctz(lanes));
    const Origin* origin = find_origin(w, lane, sites, count);
    if (origin) {
        const Site& read = w->worker->launch->sites[origin->site];
        describe_access(w, kUninitialised, origin->site, 1u << lane, origin->address, origin->bytes,
                        Access(read.access));
        w->worker->record.function = origin->function;
    } else {
        describe(w, kUninitialised, site, lanes);
    }
    w->worker->record.other_site = site;
    describe_text(w, "the value %s", use_text(use));
    leave(w, Request::kFailed);
}

// Hands over what was noted, at most `room`; returns how many.
uint64_t rt_undefined_notes(UndefinedNote* out, uint64_t room) {
    std::lock_guard<std::mutex> lock(notes_mutex);
    uint64_t count = std::min<uint64_t>(notes.size(), room);
    std::copy_n(notes.begin(), count, out);
    notes.clear();
    return count;
}

// --- operations of the warp ---

void rt_undefined_shfl(Warp* w, uint32_t mask, uint32_t mode, uint32_t* out, const uint32_t* a, const uint32_t* b,
                       const uint32_t* c) {
    if (state(w)->exchange) memset(out, 0, kLanes * sizeof *out);  // with lanes elsewhere: not followed
    else rt_shfl(w, mask, mode, out, nullptr, a, b, c);
}

// mode: 0 all, 1 any, 2 uni, 3 ballot, as rt_vote; `out` receives a mask per lane for ballot, else one mask of lanes.
void rt_undefined_vote(Warp* w, uint32_t mask, uint32_t mode, const uint32_t* members, uint32_t predicates,
                       uint32_t undefined, uint32_t* out) {
    memset(out, 0, kLanes * sizeof *out);
    if (state(w)->exchange) return;
    uint32_t lanes = 0;
    for_each_lane(mask, [&](uint32_t i) {
        const uint32_t group = members[i] & mask, open = undefined & group, known = group & ~undefined;
        if (mode == 3) out[i] = open;
        const bool settled = (mode == 0 && (known & ~predicates)) || (mode == 1 && (known & predicates));
        lanes |= uint32_t(open && !settled) << i;
    });
    if (mode != 3) out[0] = lanes;
}

// Lanes that share a group with one whose operand is undefined.
uint32_t rt_undefined_group(Warp* w, uint32_t mask, const uint32_t* members, uint32_t undefined) {
    if (state(w)->exchange) return 0;
    uint32_t lanes = 0;
    for_each_lane(mask, [&](uint32_t i) { lanes |= uint32_t((members[i] & mask & undefined) != 0) << i; });
    return lanes;
}

}  // extern "C"

// --- matrices ---

namespace {

// "1" in each type, as wide as the element.
constexpr uint64_t kOnes[] = {0x3c00, 0x3f80, 0x3f800000, 0x3f800000, 0x3ff0000000000000, 1, 1, 1, 1, 1, 1, 0x38, 0x3c};

// Calls each(word, position of an element in it) over a fragment of `words` words of 8 bytes.
template <class Each> void for_each_element(uint64_t* words, size_t count, uint32_t bits, Each each) {
    for (size_t i = 0; i < count; i++)
        for (uint32_t at = 0; at < 64; at += bits) each(words[i], at);
}

uint64_t low_ones(uint32_t bits) { return bits == 64 ? ~0ull : (1ull << bits) - 1; }

// Undefined bits → 1 for each element that has some.
void to_numbers(uint64_t* words, size_t count, uint32_t type) {
    const uint32_t bits = kMatrixBits[type];
    for_each_element(words, count, bits, [&](uint64_t& word, uint32_t at) {
        const uint64_t mask = low_ones(bits) << at;
        if (word & mask) word = (word & ~mask) | kOnes[type] << at;
    });
}

void fill_ones(uint64_t* words, size_t count, uint32_t type) {
    const uint32_t bits = kMatrixBits[type];
    memset(words, 0, count * 8);
    for_each_element(words, count, bits, [&](uint64_t& word, uint32_t at) { word |= kOnes[type] << at; });
}

constexpr size_t kMostWords = 32 * 32 / 2;  // of a fragment of 32 registers

// A fragment of `registers` registers of `type`; null stands for one that is defined.
struct Fragment {
    alignas(64) uint64_t words[kMostWords];
    size_t count;
    Fragment(const uint32_t* from, uint32_t registers, uint32_t type)
        : count(size_t(registers) * kLanes / (type == kF64 ? 1 : 2)) {
        if (from) memcpy(words, from, count * 8);
        else memset(words, 0, count * 8);
    }
    bool none() const {
        for (size_t i = 0; i < count; i++)
            if (words[i]) return false;
        return true;
    }
    uint32_t* data() { return reinterpret_cast<uint32_t*>(words); }
};

uint64_t with_and(uint64_t desc) { return desc | uint64_t(kAndPopc) << 56; }

}  // namespace

// An element of D is undefined if one of its row of A, of its column of B, or that of C is: the products of the
// flags with ones say so. `counts`: registers of a, b, c and d, a byte each.
extern "C" void rt_undefined_mma(Warp* w, uint32_t mask, uint64_t desc, uint32_t* out, const uint32_t* a,
                                 const uint32_t* b, const uint32_t* c, uint32_t counts, uint32_t is_wmma) {
    const Matrix s(desc);
    Fragment left(a, counts & 255, s.a), right(b, counts >> 8 & 255, s.b), sum(c, counts >> 16 & 255, s.c);
    Fragment first(nullptr, counts >> 24, s.d), second(nullptr, counts >> 24, s.d);
    if (!left.none() || !right.none() || !sum.none()) {
        to_numbers(left.words, left.count, s.a);
        to_numbers(right.words, right.count, s.b);
        to_numbers(sum.words, sum.count, s.c);
        Fragment a_ones(nullptr, counts & 255, s.a), b_ones(nullptr, counts >> 8 & 255, s.b);
        Fragment nothing(nullptr, counts >> 16 & 255, s.c);
        fill_ones(a_ones.words, a_ones.count, s.a);
        fill_ones(b_ones.words, b_ones.count, s.b);
        auto multiply = is_wmma ? rt_wmma_mma : rt_mma;
        multiply(w, mask, with_and(desc), first.data(), left.data(), b_ones.data(), sum.data());
        multiply(w, mask, with_and(desc), second.data(), a_ones.data(), right.data(), nothing.data());
        const uint32_t bits = kMatrixBits[s.d];
        for (size_t i = 0; i < first.count; i++) first.words[i] |= second.words[i];
        for_each_element(first.words, first.count, bits, [&](uint64_t& word, uint32_t at) {
            if (word >> at & low_ones(bits)) word |= low_ones(bits) << at;
        });
    }
    memcpy(out, first.words, first.count * 8);
}

bool undefined_lines(WarpState* w, uint32_t site, uint32_t mask, uint64_t* addresses, uint32_t bytes, uint8_t* room) {
    const Shadows shadows(w);
    bool some = false;
    for_each_lane(mask, [&](uint32_t lane) {
        uint8_t* line = room + size_t(lane) * bytes;
        if (undefined_at(w, shadows, site, lane, addresses[lane], bytes, line)) some = true;
        else memset(line, 0, bytes);
        addresses[lane] = reinterpret_cast<uint64_t>(line);
    });
    return some;
}

void define_lines(WarpState* w, uint32_t site, uint32_t mask, const uint64_t* addresses, uint32_t bytes,
                  const uint8_t* undefined) {
    const Shadows shadows(w);
    for_each_lane(mask, [&](uint32_t lane) {
        uint8_t* shadow = shadows.at(addresses[lane]);
        if (!shadow) return;
        memset(shadow, 0xff, bytes);
        if (!undefined) return;
        for (uint32_t i = 0; i < bytes; i++) shadow[i] = uint8_t(~undefined[size_t(lane) * bytes + i]);
        if (!all_defined(shadow, bytes)) note_store(w, site, lane, addresses[lane], bytes);
    });
}
