/* py::object and its kin: Python values as the boundary knows them. There is no interpreter: attributes and calls
   work on dictionaries only. */
#pragma once

#include <stdexcept>

#include "values.h"

namespace evo {
/* A counted, unchanging copy of a value. */
struct Node;
Node *node_of(const EvoValue &value);
const EvoValue &value_of(const Node *node);
void retain(Node *node);
void release(Node *node);
void copy_value(const EvoValue &source, EvoValue &target);
const EvoValue *find_item(const EvoValue &dictionary, const char *key);
[[noreturn]] void fail_object(const EvoValue &value, const char *wanted);
}  // namespace evo

namespace pybind11 {

class cast_error : public c10::Error {
  public:
    using c10::Error::Error;
    explicit cast_error(const char *message = "") : c10::Error(EVO_ERROR_ARGUMENT, 0, message) {}
};
#define EVO_EXCEPTION(name)                                                                                        \
    class name : public std::runtime_error {                                                                       \
      public:                                                                                                      \
        explicit name(const char *message = "") : std::runtime_error(message) {}                                   \
        template <typename S, typename = decltype(std::declval<const S &>().c_str())>                              \
        explicit name(const S &message) : std::runtime_error(message.c_str()) {}                                   \
    };
EVO_EXCEPTION(value_error)
EVO_EXCEPTION(type_error)
EVO_EXCEPTION(index_error)
EVO_EXCEPTION(key_error)
EVO_EXCEPTION(error_already_set)

class object {
  public:
    object() : node_(nullptr) {}
    object(const object &other) : node_(other.node_) {
        if (node_) ::evo::retain(node_);
    }
    object &operator=(const object &other) {
        if (other.node_) ::evo::retain(other.node_);
        if (node_) ::evo::release(node_);
        node_ = other.node_;
        return *this;
    }
    explicit object(const EvoValue &value) : node_(::evo::node_of(value)) {}
    ~object() {
        if (node_) ::evo::release(node_);
    }
    const EvoValue &value() const {
        static const EvoValue none = {};
        return node_ ? ::evo::value_of(node_) : none;
    }
    bool is_none() const { return value().kind == EVO_NONE; }
    bool is(const object &other) const { return node_ == other.node_ || (is_none() && other.is_none()); }
    explicit operator bool() const { return !is_none(); }
    template <typename T>
    T cast() const {
        ::evo::Caster<std::decay_t<T>> caster;
        if (!caster.load(value())) {
            ::evo::Text text;
            ::evo::Caster<std::decay_t<T>>::describe(text);
            ::evo::fail_object(value(), text.c_str());
        }
        return caster.get();
    }
    object operator[](const char *key) const { return item(key); }
    object operator[](size_t index) const {
        if (!::evo::is_sequence(value()) || index >= value().sequence.count)
            ::evo::fail_object(value(), "a longer sequence");
        return object(value().sequence.items[index]);
    }
    object operator[](int index) const { return (*this)[static_cast<size_t>(index)]; }
    bool contains(const char *key) const { return ::evo::find_item(value(), key) != nullptr; }
#ifdef EVO_WITH_STRING
    object operator[](const std::string &key) const { return item(key.c_str()); }
    bool contains(const std::string &key) const { return contains(key.c_str()); }
    object attr(const std::string &name) const { return attr(name.c_str()); }
#endif
    size_t size() const { return value().kind == EVO_DICT ? value().sequence.count / 2 : value().sequence.count; }
    bool empty() const { return size() == 0; }
    object attr(const char *name) const { return is_own_data(name) ? *this : item(name); }
    bool has(const char *name) const { return is_own_data(name) || contains(name); }
    template <typename... A>
    object operator()(A &&...) const {
        ::evo::fail_object(value(), "a function, which needs a Python interpreter");
    }

    class iterator {
      public:
        explicit iterator(const EvoValue *item) : item_(item) {}
        object operator*() const { return object(*item_); }
        iterator &operator++() {
            ++item_;
            return *this;
        }
        bool operator!=(const iterator &other) const { return item_ != other.item_; }

      private:
        const EvoValue *item_;
    };
    iterator begin() const { return iterator(::evo::is_sequence(value()) ? value().sequence.items : nullptr); }
    iterator end() const {
        return iterator(::evo::is_sequence(value()) ? value().sequence.items + value().sequence.count : nullptr);
    }

  protected:
    /* A Parameter arrives as its tensor: `x.data` of a tensor is the tensor. */
    bool is_own_data(const char *name) const {
        return value().kind == EVO_TENSOR && __builtin_strcmp(name, "data") == 0;
    }
    object item(const char *key) const {
        const EvoValue *found = ::evo::find_item(value(), key);
        if (!found) ::evo::fail_object(value(), key);
        return object(*found);
    }
    ::evo::Node *node_;
};
using handle = object;

template <typename T>
object cast(const T &value) {
    EvoValue made = {};
    ::evo::Caster<std::decay_t<T>>::give(value, made);
    object result(made);
    ::evo::dispose(made);
    return result;
}
template <typename T>
T cast(const object &value) {
    return value.cast<T>();
}

inline bool hasattr(const object &value, const char *name) { return value.has(name); }

struct none : object {};
#define EVO_OBJECT(name, ...)                                                                                      \
    class name : public object {                                                                                   \
      public:                                                                                                      \
        name() = default;                                                                                          \
        name(const object &other) : object(other) {}                                                               \
        __VA_ARGS__                                                                                                \
    };
EVO_OBJECT(sequence, )
EVO_OBJECT(args, )
EVO_OBJECT(kwargs, )
EVO_OBJECT(int_, int_(int64_t value) : object(::pybind11::cast(value)){} operator int64_t() const { return cast<int64_t>(); })
EVO_OBJECT(float_, float_(double value) : object(::pybind11::cast(value)){} operator double() const { return cast<double>(); })
EVO_OBJECT(bool_, bool_(bool value) : object(::pybind11::cast(value)){} operator bool() const { return cast<bool>(); })
EVO_OBJECT(str, str(const char *value) : object(::pybind11::cast(value)){})
class dict : public object {
  public:
    dict() = default;
    dict(const object &other) : object(other) {}
    class iterator {
      public:
        explicit iterator(const EvoValue *key) : key_(key) {}
        std::pair<object, object> operator*() const { return {object(key_[0]), object(key_[1])}; }
        iterator &operator++() {
            key_ += 2;
            return *this;
        }
        bool operator!=(const iterator &other) const { return key_ != other.key_; }

      private:
        const EvoValue *key_;
    };
    iterator begin() const { return iterator(value().kind == EVO_DICT ? value().sequence.items : nullptr); }
    iterator end() const {
        return iterator(value().kind == EVO_DICT ? value().sequence.items + value().sequence.count : nullptr);
    }
};
class tuple : public object {
  public:
    tuple() = default;
    tuple(const object &other) : object(other) {}
};
class list : public object {
  public:
    list() = default;
    list(const object &other) : object(other) {}
    template <typename T>
    void append(const T &item) {
        EvoValue longer = {};
        const size_t count = size();
        EvoValue *items = ::evo::give_sequence(EVO_LIST, count + 1, longer);
        for (size_t i = 0; i < count; ++i) ::evo::copy_value(value().sequence.items[i], items[i]);
        ::evo::Caster<std::decay_t<T>>::give(item, items[count]);
        *static_cast<object *>(this) = object(longer);
        ::evo::dispose(longer);
    }
};
template <typename... T>
tuple make_tuple(const T &...items) {
    EvoValue made = {};
    EvoValue *next = ::evo::give_sequence(EVO_TUPLE, sizeof...(T), made);
    (::evo::Caster<std::decay_t<T>>::give(items, *next++), ...);
    tuple result{object(made)};
    ::evo::dispose(made);
    return result;
}
template <typename T>
bool isinstance(const object &value) {
    if constexpr (std::is_same<T, dict>::value) return value.value().kind == EVO_DICT;
    else if constexpr (std::is_same<T, list>::value) return value.value().kind == EVO_LIST;
    else if constexpr (std::is_same<T, tuple>::value) return value.value().kind == EVO_TUPLE;
    else if constexpr (std::is_same<T, sequence>::value) return ::evo::is_sequence(value.value());
    else if constexpr (std::is_same<T, none>::value) return value.is_none();
    else if constexpr (std::is_same<T, str>::value) return value.value().kind == EVO_STRING;
    else if constexpr (std::is_same<T, int_>::value) return value.value().kind == EVO_INTEGER;
    else if constexpr (std::is_same<T, float_>::value) return value.value().kind == EVO_FLOAT;
    else if constexpr (std::is_same<T, bool_>::value) return value.value().kind == EVO_BOOLEAN;
    else if constexpr (std::is_base_of<object, T>::value) return false; /* *args and **kwargs are not passed */
    else return ::evo::Caster<T>().load(value.value());
}

}  // namespace pybind11

namespace evo {
template <typename T>
struct Caster<T, std::enable_if_t<std::is_base_of<pybind11::object, T>::value>> : Holding<T> {
    static void describe(Text &text) { text << "object"; }
    bool load(const EvoValue &value) {
        *static_cast<pybind11::object *>(&this->held) = pybind11::object(value);
        return std::is_same<T, pybind11::object>::value || pybind11::isinstance<T>(this->held);
    }
    static void give(const pybind11::object &object, EvoValue &value) { copy_value(object.value(), value); }
};
}  // namespace evo
