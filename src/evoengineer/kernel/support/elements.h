/* Reading and writing one element of any type, for copies that convert; on the host and on the device. */
#pragma once

#include "evo/abi.h"
#include "evo/half.h"

namespace evo {

struct Number {
    double number;
    int64_t integer;
    bool integral;
};

C10_HOST_DEVICE inline Number integer_of(int64_t value) { return {static_cast<double>(value), value, true}; }
C10_HOST_DEVICE inline Number number_of(double value) { return {value, static_cast<int64_t>(value), false}; }

C10_HOST_DEVICE inline Number load_element(const void *data, int64_t index, int32_t dtype) {
    switch (dtype) {
        case EVO_UINT8: return integer_of(static_cast<const uint8_t *>(data)[index]);
        case EVO_INT8: return integer_of(static_cast<const int8_t *>(data)[index]);
        case EVO_INT16: return integer_of(static_cast<const int16_t *>(data)[index]);
        case EVO_UINT16: return integer_of(static_cast<const uint16_t *>(data)[index]);
        case EVO_INT32: return integer_of(static_cast<const int32_t *>(data)[index]);
        case EVO_UINT32: return integer_of(static_cast<const uint32_t *>(data)[index]);
        case EVO_INT64: return integer_of(static_cast<const int64_t *>(data)[index]);
        case EVO_UINT64: return integer_of(static_cast<int64_t>(static_cast<const uint64_t *>(data)[index]));
        case EVO_BOOL: return integer_of(static_cast<const uint8_t *>(data)[index] != 0);
        case EVO_FLOAT16: return number_of(static_cast<float>(static_cast<const c10::Half *>(data)[index]));
        case EVO_BFLOAT16: return number_of(static_cast<float>(static_cast<const c10::BFloat16 *>(data)[index]));
        case EVO_FLOAT32: return number_of(static_cast<const float *>(data)[index]);
        default: return number_of(static_cast<const double *>(data)[index]);
    }
}

C10_HOST_DEVICE inline void store_element(void *data, int64_t index, int32_t dtype, Number value) {
    const int64_t integer = value.integer;
    const double number = value.number;
    switch (dtype) {
        case EVO_UINT8: static_cast<uint8_t *>(data)[index] = static_cast<uint8_t>(integer); break;
        case EVO_INT8: static_cast<int8_t *>(data)[index] = static_cast<int8_t>(integer); break;
        case EVO_INT16: static_cast<int16_t *>(data)[index] = static_cast<int16_t>(integer); break;
        case EVO_UINT16: static_cast<uint16_t *>(data)[index] = static_cast<uint16_t>(integer); break;
        case EVO_INT32: static_cast<int32_t *>(data)[index] = static_cast<int32_t>(integer); break;
        case EVO_UINT32: static_cast<uint32_t *>(data)[index] = static_cast<uint32_t>(integer); break;
        case EVO_INT64: static_cast<int64_t *>(data)[index] = integer; break;
        case EVO_UINT64: static_cast<uint64_t *>(data)[index] = static_cast<uint64_t>(integer); break;
        case EVO_BOOL: static_cast<uint8_t *>(data)[index] = value.integral ? integer != 0 : number != 0; break;
        case EVO_FLOAT16: static_cast<c10::Half *>(data)[index] = c10::Half(static_cast<float>(number)); break;
        case EVO_BFLOAT16: static_cast<c10::BFloat16 *>(data)[index] = c10::BFloat16(static_cast<float>(number)); break;
        case EVO_FLOAT32: static_cast<float *>(data)[index] = static_cast<float>(number); break;
        default: static_cast<double *>(data)[index] = number;
    }
}

inline bool convertible(int32_t dtype) {
    return dtype <= EVO_FLOAT64 || dtype == EVO_BOOL || dtype == EVO_BFLOAT16 ||
           (dtype >= EVO_UINT16 && dtype <= EVO_UINT64);
}

}  // namespace evo
