/* Values of the boundary (EvoValue) to C++ arguments and back: one Caster for each type that a function may take. */
#pragma once

#include "tensor.h"

namespace evo {

/* Results: their memory belongs to the value and goes with it. */
void give_tensor(const at::Tensor &tensor, EvoValue &value);
void give_string(const char *text, size_t length, EvoValue &value);
EvoValue *give_sequence(int32_t kind, size_t count, EvoValue &value);
at::Tensor take_tensor(const EvoTensor &tensor);
bool load_device(const EvoValue &value, c10::Device &device);
void dispose(EvoValue &value);

template <typename T>
struct Unsupported {
    static constexpr bool value = false;
};

template <typename T, typename = void>
struct Caster {
    static_assert(Unsupported<T>::value, "this type can be neither an argument nor a result of a function given to m.def");
};

template <typename T>
struct Holding {
    T held{};
    T &get() { return held; }
};

template <>
struct Caster<at::Tensor> : Holding<at::Tensor> {
    static void describe(Text &text) { text << "Tensor"; }
    bool load(const EvoValue &value) {
        if (value.kind != EVO_TENSOR) return false;
        held = take_tensor(*value.tensor);
        return true;
    }
    static void give(const at::Tensor &tensor, EvoValue &value) { give_tensor(tensor, value); }
};

template <typename T>
struct Caster<T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>> : Holding<T> {
    static void describe(Text &text) { text << "int"; }
    bool load(const EvoValue &value) {
        if (value.kind != EVO_INTEGER && value.kind != EVO_BOOLEAN) return false;
        this->held = static_cast<T>(value.integer);
        return static_cast<int64_t>(this->held) == value.integer;
    }
    static void give(T number, EvoValue &value) {
        value.kind = EVO_INTEGER;
        value.integer = static_cast<int64_t>(number);
    }
};

template <>
struct Caster<bool> : Holding<bool> {
    static void describe(Text &text) { text << "bool"; }
    bool load(const EvoValue &value) {
        held = value.integer != 0;
        return value.kind == EVO_BOOLEAN;
    }
    static void give(bool truth, EvoValue &value) {
        value.kind = EVO_BOOLEAN;
        value.integer = truth;
    }
};

template <typename T>
struct Caster<T, std::enable_if_t<std::is_floating_point<T>::value>> : Holding<T> {
    static void describe(Text &text) { text << "float"; }
    bool load(const EvoValue &value) {
        this->held = static_cast<T>(value.kind == EVO_FLOAT ? value.number : static_cast<double>(value.integer));
        return value.kind == EVO_FLOAT || value.kind == EVO_INTEGER || value.kind == EVO_BOOLEAN;
    }
    static void give(T number, EvoValue &value) {
        value.kind = EVO_FLOAT;
        value.number = static_cast<double>(number);
    }
};

template <>
struct Caster<const char *> : Holding<const char *> {
    static void describe(Text &text) { text << "str"; }
    bool load(const EvoValue &value) {
        held = value.kind == EVO_STRING ? value.string.text : nullptr;
        return held != nullptr;
    }
    static void give(const char *text, EvoValue &value) { give_string(text, __builtin_strlen(text), value); }
};

template <>
struct Caster<char *> : Caster<const char *> {};

template <>
struct Caster<c10::ScalarType> : Holding<c10::ScalarType> {
    static void describe(Text &text) { text << "dtype"; }
    bool load(const EvoValue &value) {
        held = static_cast<c10::ScalarType>(value.integer);
        return value.kind == EVO_DTYPE;
    }
    static void give(c10::ScalarType type, EvoValue &value) {
        value.kind = EVO_DTYPE;
        value.integer = static_cast<int64_t>(type);
    }
};

template <>
struct Caster<c10::Device> {
    c10::Device held{c10::kCPU};
    c10::Device &get() { return held; }
    static void describe(Text &text) { text << "device"; }
    bool load(const EvoValue &value) { return load_device(value, held); }
    static void give(c10::Device device, EvoValue &value) {
        Text text;
        text << device;
        give_string(text.c_str(), text.size(), value);
    }
};

template <>
struct Caster<c10::Scalar> : Holding<c10::Scalar> {
    static void describe(Text &text) { text << "Number"; }
    bool load(const EvoValue &value) {
        if (value.kind == EVO_INTEGER)
            held = value.integer;
        else if (value.kind == EVO_BOOLEAN)
            held = value.integer != 0;
        else if (value.kind == EVO_FLOAT)
            held = value.number;
        else
            return false;
        return true;
    }
    static void give(const c10::Scalar &number, EvoValue &value) {
        if (number.isFloatingPoint())
            Caster<double>::give(number.toDouble(), value);
        else if (number.isBoolean())
            Caster<bool>::give(number.toBool(), value);
        else
            Caster<int64_t>::give(number.toLong(), value);
    }
};

inline bool is_sequence(const EvoValue &value) { return value.kind == EVO_LIST || value.kind == EVO_TUPLE; }

#ifdef EVO_WITH_STRING
template <>
struct Caster<std::string> : Holding<std::string> {
    static void describe(Text &text) { text << "str"; }
    bool load(const EvoValue &value) {
        if (value.kind != EVO_STRING) return false;
        held.assign(value.string.text, value.string.length);
        return true;
    }
    static void give(const std::string &text, EvoValue &value) { give_string(text.data(), text.size(), value); }
};
#endif

/* What a sequence keeps for a view of it: vector<bool> has no elements to point at. */
template <typename T>
struct Elements {
    ~Elements() { delete[] items; }
    T *items = nullptr;
    size_t count = 0;
    bool load(const EvoValue &value) {
        if (!is_sequence(value)) return false;
        count = value.sequence.count;
        delete[] items;
        items = new T[count ? count : 1]();
        for (size_t i = 0; i < count; ++i) {
            Caster<T> item;
            if (!item.load(value.sequence.items[i])) return false;
            items[i] = static_cast<T &&>(item.get());
        }
        return true;
    }
};

template <typename T>
struct Caster<c10::ArrayRef<T>> : Holding<c10::ArrayRef<T>> {
    Elements<T> elements;
    static void describe(Text &text) {
        text << "List[";
        Caster<T>::describe(text);
        text << "]";
    }
    bool load(const EvoValue &value) {
        if (!elements.load(value)) return false;
        this->held = c10::ArrayRef<T>(elements.items, elements.count);
        return true;
    }
    static void give(c10::ArrayRef<T> list, EvoValue &value) {
        EvoValue *items = give_sequence(EVO_LIST, list.size(), value);
        for (size_t i = 0; i < list.size(); ++i) Caster<T>::give(list[i], items[i]);
    }
};

#ifdef EVO_WITH_VECTOR
template <typename T>
struct Caster<std::vector<T>> : Holding<std::vector<T>> {
    static void describe(Text &text) { Caster<c10::ArrayRef<T>>::describe(text); }
    bool load(const EvoValue &value) {
        if (!is_sequence(value)) return false;
        this->held.clear();
        for (size_t i = 0; i < value.sequence.count; ++i) {
            Caster<T> item;
            if (!item.load(value.sequence.items[i])) return false;
            this->held.push_back(item.get());
        }
        return true;
    }
    static void give(const std::vector<T> &list, EvoValue &value) {
        EvoValue *items = give_sequence(EVO_LIST, list.size(), value);
        for (size_t i = 0; i < list.size(); ++i) Caster<T>::give(list[i], items[i]);
    }
};
#endif

#ifdef EVO_WITH_ARRAY
template <typename T, size_t N>
struct Caster<std::array<T, N>> : Holding<std::array<T, N>> {
    static void describe(Text &text) { Caster<c10::ArrayRef<T>>::describe(text); }
    bool load(const EvoValue &value) {
        if (!is_sequence(value) || value.sequence.count != N) return false;
        for (size_t i = 0; i < N; ++i) {
            Caster<T> item;
            if (!item.load(value.sequence.items[i])) return false;
            this->held[i] = item.get();
        }
        return true;
    }
    static void give(const std::array<T, N> &list, EvoValue &value) {
        EvoValue *items = give_sequence(EVO_LIST, N, value);
        for (size_t i = 0; i < N; ++i) Caster<T>::give(list[i], items[i]);
    }
};
#endif

template <typename A, typename B>
struct Caster<std::pair<A, B>> : Holding<std::pair<A, B>> {
    static void describe(Text &text) {
        text << "Tuple[";
        Caster<A>::describe(text);
        text << ", ";
        Caster<B>::describe(text);
        text << "]";
    }
    bool load(const EvoValue &value) {
        if (!is_sequence(value) || value.sequence.count != 2) return false;
        Caster<A> first;
        Caster<B> second;
        if (!first.load(value.sequence.items[0]) || !second.load(value.sequence.items[1])) return false;
        this->held.first = first.get();
        this->held.second = second.get();
        return true;
    }
    static void give(const std::pair<A, B> &pair, EvoValue &value) {
        EvoValue *items = give_sequence(EVO_TUPLE, 2, value);
        Caster<std::decay_t<A>>::give(pair.first, items[0]);
        Caster<std::decay_t<B>>::give(pair.second, items[1]);
    }
};

#ifdef EVO_WITH_TUPLE
template <typename... T>
struct Caster<std::tuple<T...>> : Holding<std::tuple<T...>> {
    static void describe(Text &text) {
        text << "Tuple[";
        size_t i = 0;
        ((text << (i++ ? ", " : ""), Caster<std::decay_t<T>>::describe(text)), ...);
        text << "]";
    }
    bool load(const EvoValue &value) {
        return is_sequence(value) && value.sequence.count == sizeof...(T) &&
               load_items(value.sequence.items, std::index_sequence_for<T...>());
    }
    static void give(const std::tuple<T...> &tuple, EvoValue &value) {
        give_items(tuple, give_sequence(EVO_TUPLE, sizeof...(T), value), std::index_sequence_for<T...>());
    }

  private:
    template <typename U>
    static bool load_item(const EvoValue &value, U &target) {
        Caster<U> item;
        if (!item.load(value)) return false;
        target = item.get();
        return true;
    }
    template <size_t... I>
    bool load_items(const EvoValue *items, std::index_sequence<I...>) {
        return (load_item(items[I], std::get<I>(this->held)) && ...);
    }
    template <size_t... I>
    static void give_items(const std::tuple<T...> &tuple, EvoValue *items, std::index_sequence<I...>) {
        (Caster<std::decay_t<T>>::give(std::get<I>(tuple), items[I]), ...);
    }
};
#endif

#ifdef EVO_WITH_OPTIONAL
template <typename T>
struct Caster<std::optional<T>> : Holding<std::optional<T>> {
    Caster<T> inner; /* alive while `held` may point into it */
    static void describe(Text &text) {
        text << "Optional[";
        Caster<T>::describe(text);
        text << "]";
    }
    bool load(const EvoValue &value) {
        if (value.kind == EVO_NONE) return true;
        if (!inner.load(value)) return false;
        this->held = inner.get();
        return true;
    }
    static void give(const std::optional<T> &choice, EvoValue &value) {
        if (choice) Caster<T>::give(*choice, value);
    }
};
template <>
struct Caster<std::nullopt_t> {
    static void give(std::nullopt_t, EvoValue &) {}
};
#endif

#ifdef EVO_WITH_MAP
template <typename Map>
struct MapCaster : Holding<Map> {
    using Key = typename Map::key_type;
    using Item = typename Map::mapped_type;
    static void describe(Text &text) {
        text << "Dict[";
        Caster<Key>::describe(text);
        text << ", ";
        Caster<Item>::describe(text);
        text << "]";
    }
    bool load(const EvoValue &value) {
        if (value.kind != EVO_DICT) return false;
        for (size_t i = 0; i + 1 < value.sequence.count; i += 2) {
            Caster<Key> key;
            Caster<Item> item;
            if (!key.load(value.sequence.items[i]) || !item.load(value.sequence.items[i + 1])) return false;
            this->held[key.get()] = item.get();
        }
        return true;
    }
    static void give(const Map &map, EvoValue &value) {
        EvoValue *items = give_sequence(EVO_DICT, 2 * map.size(), value);
        for (const auto &pair : map) {
            Caster<Key>::give(pair.first, *items++);
            Caster<Item>::give(pair.second, *items++);
        }
    }
};
template <typename K, typename T>
struct Caster<std::map<K, T>> : MapCaster<std::map<K, T>> {};
template <typename K, typename T>
struct Caster<std::unordered_map<K, T>> : MapCaster<std::unordered_map<K, T>> {};
#endif

}  // namespace evo
