/* Conversions of small floating point types on the host. */
#include <math.h>
#include <string.h>

#include "support.h"

namespace evo {
namespace {

/* A format with a sign, `exponent` and `mantissa` bits, all ones in the exponent for infinity and NaN. */
double decode(unsigned bits, int exponent_bits, int mantissa_bits) {
    const unsigned sign = bits >> (exponent_bits + mantissa_bits);
    const int exponent = static_cast<int>((bits >> mantissa_bits) & ((1u << exponent_bits) - 1));
    const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    double value;
    if (exponent == (1 << exponent_bits) - 1)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - mantissa_bits);
    else
        value = ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
    return sign ? -value : value;
}

/* Rounds to nearest, ties to even; the result may carry into the exponent, up to infinity. */
unsigned encode(float value, int exponent_bits, int mantissa_bits) {
    const unsigned sign = signbit(value) ? 1u << (exponent_bits + mantissa_bits) : 0;
    const unsigned infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    if (isnan(value)) return sign | infinity | 1u << (mantissa_bits - 1);
    double magnitude = fabs(static_cast<double>(value));
    if (isinf(value)) return sign | infinity;
    int exponent = magnitude > 0 ? ilogb(magnitude) : 1 - bias;
    if (exponent < 1 - bias) exponent = 1 - bias;
    const double steps = nearbyint(ldexp(magnitude, mantissa_bits - exponent));
    const double bits = steps - (steps >= 1u << mantissa_bits ? 1u << mantissa_bits : 0) +
                        (steps >= 1u << mantissa_bits ? static_cast<double>(exponent + bias) * (1u << mantissa_bits) : 0);
    return sign | (bits >= infinity ? infinity : static_cast<unsigned>(bits));
}

}  // namespace

float float_of_half(uint16_t bits) { return static_cast<float>(decode(bits, 5, 10)); }
uint16_t half_of_float(float value) { return static_cast<uint16_t>(encode(value, 5, 10)); }

/* e4m3fn has no infinity: its largest exponent holds numbers, only all ones are NaN. */
float float_of_float8(uint8_t bits, int mantissa) {
    if (mantissa == 2) return static_cast<float>(decode(bits, 5, 2));
    if ((bits & 0x7F) == 0x7F) return NAN;
    if ((bits & 0x78) != 0x78) return static_cast<float>(decode(bits, 4, 3));
    const float value = ldexpf(static_cast<float>((bits & 7) + 8), 8 - 3);
    return bits & 0x80 ? -value : value;
}
uint8_t float8_of_float(float value, int mantissa) {
    if (mantissa == 2) return static_cast<uint8_t>(encode(value, 5, 2));
    const uint8_t sign = signbit(value) ? 0x80 : 0;
    const float magnitude = fabsf(value);
    if (!(magnitude < 464)) return sign | 0x7F; /* NaN, and what rounds beyond 448 */
    if (magnitude >= 240) { /* the binade that `encode` takes for infinity */
        const int steps = static_cast<int>(nearbyintf(ldexpf(magnitude, 3 - 8)));
        return sign | (steps < 8 ? 0x77 : static_cast<uint8_t>(0x78 + (steps > 14 ? 14 : steps) - 8));
    }
    const unsigned bits = encode(value, 4, 3);
    return static_cast<uint8_t>(bits);
}

}  // namespace evo
