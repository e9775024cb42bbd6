/* PYBIND11_MODULE and TORCH_LIBRARY: functions are registered by name, type-erased, for `evo_open` to list. */
#pragma once

#include "values.h"

namespace evo {

/* Runs one overload: false when the arguments do not fit, exceptions pass through. */
using Invoke = bool (*)(void *callable, const EvoValue *arguments, EvoValue *result);

/* A function under registration; the registry keeps it when `commit` is called. */
class Entry {
  public:
    Entry(const char *prefix, const char *name);
    ~Entry();
    Entry(const Entry &) = delete;
    void bind(Invoke invoke, void *callable);
    void parameter(const char *type);
    void document(const char *text);
    /* The next py::arg; `fallback` (or null) is its default, which becomes ours. */
    void argument(const char *name, EvoValue *fallback);
    void commit();

  private:
    struct Record *record_;
    size_t arguments_ = 0;
};

/* A static object of PYBIND11_MODULE or TORCH_LIBRARY; `evo_open` runs the function once. */
struct Registration {
    using Function = void (*)();
    Registration(const char *name, Function function);
    const char *name;
    Function function;
    Registration *next;
};

template <typename F, typename R, typename... A>
struct Binder {
    static bool invoke(void *callable, const EvoValue *arguments, EvoValue *result) {
        return run(*static_cast<F *>(callable), arguments, result, Caster<std::decay_t<A>>()...);
    }
    template <typename... C>
    static bool run(F &function, const EvoValue *arguments, EvoValue *result, C &&...casters) {
        size_t i = 0;
        (void)i;
        (void)arguments;
        if (!(casters.load(arguments[i++]) && ...)) return false;
        if constexpr (std::is_void<R>::value)
            function(static_cast<A>(casters.get())...);
        else
            Caster<std::decay_t<R>>::give(function(static_cast<A>(casters.get())...), *result);
        return true;
    }
    static void enter(Entry &entry, F function) {
        entry.bind(&invoke, new F(static_cast<F &&>(function)));
        (enter_type<std::decay_t<A>>(entry), ...);
    }
    template <typename T>
    static void enter_type(Entry &entry) {
        Text text;
        Caster<T>::describe(text);
        entry.parameter(text.c_str());
    }
};

template <typename R, typename... A>
void enter(Entry &entry, R (*function)(A...)) {
    Binder<R (*)(A...), R, A...>::enter(entry, function);
}
template <typename F, typename R, typename C, typename... A>
void enter_callable(Entry &entry, F function, R (C::*)(A...) const) {
    Binder<F, R, A...>::enter(entry, static_cast<F &&>(function));
}
template <typename F, typename R, typename C, typename... A>
void enter_callable(Entry &entry, F function, R (C::*)(A...)) {
    Binder<F, R, A...>::enter(entry, static_cast<F &&>(function));
}
template <typename F>
auto enter(Entry &entry, F function) -> std::enable_if_t<std::is_class<F>::value, decltype(&F::operator(), void())> {
    enter_callable(entry, static_cast<F &&>(function), &F::operator());
}

}  // namespace evo

#ifdef EVO_WITH_OBJECTS
#include "objects.h"
#endif

namespace pybind11 {

struct arg_v {
    const char *name;
    EvoValue value;
};
struct arg {
    constexpr explicit arg(const char *name = nullptr) : name(name) {}
    template <typename T>
    arg_v operator=(T &&value) const {
        arg_v result{name, {}};
        ::evo::Caster<std::decay_t<T>>::give(value, result.value);
        return result;
    }
    arg &noconvert(bool = true) { return *this; }
    arg &none(bool = true) { return *this; }
    const char *name;
};
namespace literals {
constexpr arg operator""_a(const char *name, size_t) { return arg(name); }
}  // namespace literals

struct kw_only {};
struct pos_only {};
struct gil_scoped_release {
    gil_scoped_release() {}
    ~gil_scoped_release() {}
};
struct gil_scoped_acquire {
    gil_scoped_acquire() {}
    ~gil_scoped_acquire() {}
};
struct mod_gil_not_used {};
template <typename... Guards>
struct call_guard {};
enum class return_value_policy { automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal };

template <typename... A>
struct overload_cast_t {
    template <typename R>
    constexpr auto operator()(R (*function)(A...)) const {
        return function;
    }
};
template <typename... A>
constexpr overload_cast_t<A...> overload_cast{};

class module_ {
  public:
    /* `m.doc() = …` and `m.attr("x") = …` are for people in Python; here they go nowhere. */
    struct Sink {
        template <typename T>
        void operator=(const T &) const {}
    };
    template <typename F, typename... Extra>
    module_ &def(const char *name, F &&function, const Extra &...extra) {
        ::evo::Entry entry("", name);
        ::evo::enter(entry, static_cast<F &&>(function));
        (add(entry, extra), ...);
        entry.commit();
        return *this;
    }
    Sink doc() { return {}; }
    Sink attr(const char *) { return {}; }
    module_ &def_submodule(const char *, const char * = nullptr) { return *this; }

  private:
    static void add(::evo::Entry &entry, const char *text) { entry.document(text); }
    static void add(::evo::Entry &entry, const arg &argument) { entry.argument(argument.name, nullptr); }
    static void add(::evo::Entry &entry, const arg_v &argument) {
        EvoValue value = argument.value;
        entry.argument(argument.name, &value);
    }
    template <typename T>
    static void add(::evo::Entry &entry, const T &other) {
        if constexpr (std::is_convertible<T, const char *>::value) entry.document(other);
    }
};
using module = module_;

}  // namespace pybind11
namespace py = pybind11;

namespace torch {
template <typename F>
F wrap_pybind_function(F function) {
    return function;
}
}  // namespace torch

#define PYBIND11_MODULE(name, variable, ...)                                                                       \
    static void evo_module_body(::pybind11::module_ &);                                                            \
    static void evo_module_init() {                                                                                \
        ::pybind11::module_ variable##_evo;                                                                        \
        evo_module_body(variable##_evo);                                                                           \
    }                                                                                                              \
    static ::evo::Registration evo_module_registration(C10_STRINGIZE(name), &evo_module_init);                     \
    void evo_module_body(C10_UNUSED ::pybind11::module_ &variable)
