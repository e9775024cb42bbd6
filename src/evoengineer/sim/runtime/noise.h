// Numbers that nobody can foresee or recognise, for memory that nobody has written.
#pragma once

#include <cstdint>
#include <cstring>

// No two words of it are related, nor those of two seeds.
inline void fill_noise(void* to, uint64_t bytes, uint64_t seed) {
    auto at = static_cast<uint8_t*>(to);
    for (uint64_t done = 0; done < bytes; done += 8) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t word = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9u;
        word = (word ^ word >> 27) * 0x94d049bb133111ebu;
        word ^= word >> 31;
        memcpy(at + done, &word, bytes - done < 8 ? bytes - done : 8);
    }
}
