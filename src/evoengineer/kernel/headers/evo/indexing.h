/* Tensor::index with integers, slices, None and "...": views, no gathering. */
#pragma once

#include "tensor.h"

namespace at {
namespace indexing {

struct Slice {
    Slice(::evo::OptionalInt start = {}, ::evo::OptionalInt stop = {}, ::evo::OptionalInt step = {})
        : start(start), stop(stop), step(step) {}
    ::evo::OptionalInt start, stop, step;
};
enum class EllipsisIndexType { Ellipsis };
using NoneType = ::evo::NoneType;
constexpr EllipsisIndexType Ellipsis = EllipsisIndexType::Ellipsis;
constexpr NoneType None{};

struct TensorIndex {
    enum class Kind { Integer, Slice, Ellipsis, None };
    TensorIndex(int index) : kind(Kind::Integer), integer(index) {}
    TensorIndex(int64_t index) : kind(Kind::Integer), integer(index) {}
    TensorIndex(Slice slice) : kind(Kind::Slice), slice(slice) {}
    TensorIndex(EllipsisIndexType) : kind(Kind::Ellipsis) {}
    TensorIndex(const char *) : kind(Kind::Ellipsis) {}
    TensorIndex(NoneType) : kind(Kind::None) {}
#ifdef EVO_WITH_OPTIONAL
    TensorIndex(std::nullopt_t) : kind(Kind::None) {}
#endif
    Kind kind;
    int64_t integer = 0;
    Slice slice;
};

}  // namespace indexing

inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
    using Kind = indexing::TensorIndex::Kind;
    Tensor result = *this;
    int64_t used = 0;
    for (const auto &each : indices) used += each.kind == Kind::Integer || each.kind == Kind::Slice;
    int64_t place = 0;
    for (const auto &each : indices) {
        if (each.kind == Kind::Integer)
            result = result.select(place, each.integer);
        else if (each.kind == Kind::None)
            result = result.unsqueeze(place++);
        else if (each.kind == Kind::Ellipsis)
            place += dim() - used;
        else {
            result = result.slice(place, each.slice.start, each.slice.stop, each.slice.step.given ? each.slice.step.value : 1);
            ++place;
        }
    }
    return result;
}

}  // namespace at
