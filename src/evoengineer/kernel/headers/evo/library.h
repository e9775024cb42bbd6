/* TORCH_LIBRARY: operators with a schema. Only those with a function can be called here, as "namespace::name". */
#pragma once

#include "module.h"

namespace c10 {
enum class DispatchKey : uint16_t { Undefined, CPU, CUDA, Meta, Autograd, AutogradCUDA, CompositeImplicitAutograd, CompositeExplicitAutograd };
}

namespace torch {

class Library {
  public:
    explicit Library(const char *space) : space_(space) {}
    Library &def(const char *) { return *this; }
    template <typename F>
    Library &def(const char *schema, F &&function) {
        return impl(schema, static_cast<F &&>(function));
    }
    template <typename F>
    Library &impl(const char *name, F &&function) {
        ::evo::Entry entry(space_, name);
        ::evo::enter(entry, static_cast<F &&>(function));
        entry.commit();
        return *this;
    }
    template <typename F>
    Library &impl(const char *name, DispatchKey key, F &&function) {
        return key == DispatchKey::CUDA ? impl(name, static_cast<F &&>(function)) : *this;
    }
    template <typename F>
    Library &impl(const char *name, DeviceType type, F &&function) {
        return type == c10::kCUDA ? impl(name, static_cast<F &&>(function)) : *this;
    }

  private:
    const char *space_;
};
template <typename F>
F dispatch(DispatchKey, F function) {
    return function;
}

}  // namespace torch

#define EVO_LIBRARY(space, variable, tag)                                                                          \
    static void C10_CONCATENATE(evo_library_body_, tag)(::torch::Library &);                                       \
    static void C10_CONCATENATE(evo_library_init_, tag)() {                                                        \
        ::torch::Library library(#space);                                                                          \
        C10_CONCATENATE(evo_library_body_, tag)(library);                                                          \
    }                                                                                                              \
    static ::evo::Registration C10_CONCATENATE(evo_library_registration_, tag)(                                    \
        #space, &C10_CONCATENATE(evo_library_init_, tag));                                                         \
    void C10_CONCATENATE(evo_library_body_, tag)(C10_UNUSED ::torch::Library &variable)
#define TORCH_LIBRARY(space, variable) EVO_LIBRARY(space, variable, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(space, variable) EVO_LIBRARY(space, variable, __COUNTER__)
#define EVO_LIBRARY_CUDA(space, variable) EVO_LIBRARY(space, variable, __COUNTER__)
#define EVO_LIBRARY_OTHER(space, variable)                                                                         \
    C10_UNUSED static void C10_CONCATENATE(evo_library_ignored_, __COUNTER__)(::torch::Library & variable)
#define TORCH_LIBRARY_IMPL(space, key, variable) C10_CONCATENATE(EVO_LIBRARY_IMPL_, key)(space, variable)
#define EVO_LIBRARY_IMPL_CUDA EVO_LIBRARY_CUDA
#define EVO_LIBRARY_IMPL_CompositeImplicitAutograd EVO_LIBRARY_CUDA
#define EVO_LIBRARY_IMPL_CompositeExplicitAutograd EVO_LIBRARY_CUDA
#define EVO_LIBRARY_IMPL_CPU EVO_LIBRARY_OTHER
#define EVO_LIBRARY_IMPL_Meta EVO_LIBRARY_OTHER
#define EVO_LIBRARY_IMPL_Autograd EVO_LIBRARY_OTHER
#define EVO_LIBRARY_IMPL_AutogradCUDA EVO_LIBRARY_OTHER
#define TORCH_FN(function) (&(function))
