/* The registered functions, and `evo_open`. Linked in when a text has a PYBIND11_MODULE or a TORCH_LIBRARY. */
#include <stdio.h>
#include <string.h>

#include <string>
#include <vector>

#include "support.h"

namespace evo {

const char *kind_name(int32_t kind);

struct Record {
    std::string name, doc;
    std::vector<std::string> types, names;
    std::vector<EvoValue> defaults;
    std::vector<char> optional;
    std::vector<EvoParameter> parameters;
    Invoke invoke = nullptr;
    void *callable = nullptr;
};

namespace {

Registration *registrations = nullptr;
std::vector<Record *> records;
std::vector<EvoFunction> functions;
EvoModule module;

void set_error(EvoError *error, int32_t kind, const char *message) {
    if (!error) return;
    memset(error, 0, sizeof *error);
    error->kind = kind;
    snprintf(error->message, sizeof error->message, "%s", message);
}

/* Runs `action` and turns what it throws into an error. */
template <typename F>
int32_t guarded(EvoError *error, F &&action) {
    try {
        return action();
    } catch (const c10::Error &failure) {
        if (error) *error = failure.evo_error();
        return failure.evo_error().kind;
    } catch (const std::bad_alloc &failure) {
        set_error(error, EVO_ERROR_MEMORY, failure.what());
        return EVO_ERROR_MEMORY;
    } catch (const std::exception &failure) {
        set_error(error, EVO_ERROR_EXCEPTION, failure.what());
    } catch (const char *message) {
        set_error(error, EVO_ERROR_EXCEPTION, message);
    } catch (const std::string &message) {
        set_error(error, EVO_ERROR_EXCEPTION, message.c_str());
    } catch (...) {
        set_error(error, EVO_ERROR_EXCEPTION, "an exception that is no std::exception");
    }
    return EVO_ERROR_EXCEPTION;
}

/* Puts arguments into the order of the parameters; false when they do not fit this overload. */
bool arrange(const Record &record, const EvoValue *arguments, const char *const *names, size_t count,
             std::vector<EvoValue> &ordered) {
    const size_t total = record.types.size();
    std::vector<char> given(total, 0);
    ordered = record.defaults;
    for (size_t i = 0; i < count; ++i) {
        size_t place = i;
        if (names && names[i])
            for (place = 0; place < total && record.names[place] != names[i]; ++place) {}
        if (place >= total || given[place]) return false;
        given[place] = 1;
        ordered[place] = arguments[i];
    }
    for (size_t i = 0; i < total; ++i)
        if (!given[i] && !record.optional[i]) return false;
    return true;
}

std::string signature(const Record &record) {
    std::string text = record.name + "(";
    for (size_t i = 0; i < record.types.size(); ++i)
        text += (i ? ", " : "") + record.names[i] + ": " + record.types[i] + (record.optional[i] ? " = …" : "");
    return text + ")";
}

std::string given(const EvoValue *arguments, const char *const *names, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
        text += (i ? ", " : "") + (names && names[i] ? std::string(names[i]) + "=" : "") + kind_name(arguments[i].kind);
    return text;
}

int32_t call(const char *name, const EvoValue *arguments, const char *const *names, size_t count, EvoValue *result,
             EvoError *error) {
    *result = {};
    const int32_t status = guarded(error, [&]() -> int32_t {
        std::string overloads;
        std::vector<EvoValue> ordered;
        for (const Record *record : records) {
            if (record->name != name) continue;
            ordered.resize(record->types.size());
            if (arrange(*record, arguments, names, count, ordered) &&
                record->invoke(record->callable, ordered.data(), result))
                return EVO_OK;
            overloads += "\n    " + signature(*record);
        }
        if (overloads.empty()) {
            std::string known;
            for (const Record *record : records) known += (known.empty() ? "" : ", ") + record->name;
            set_error(error, EVO_ERROR_NAME, ("the module has no function " + std::string(name) + "; it has: " + known).c_str());
            return EVO_ERROR_NAME;
        }
        set_error(error, EVO_ERROR_ARGUMENT,
                  (std::string(name) + "(): incompatible function arguments. It takes:" + overloads +
                   "\n  and was called with: (" + given(arguments, names, count) + ")").c_str());
        return EVO_ERROR_ARGUMENT;
    });
    if (status != EVO_OK) dispose(*result);
    return status;
}

}  // namespace

Registration::Registration(const char *name, Function function) : name(name), function(function), next(registrations) {
    registrations = this;
}

Entry::Entry(const char *prefix, const char *name) : record_(new Record) {
    const char *end = strchr(name, '('); /* of a schema */
    record_->name = end ? std::string(name, end) : std::string(name);
    if (*prefix && record_->name.find("::") == std::string::npos) record_->name = std::string(prefix) + "::" + record_->name;
}
Entry::~Entry() { delete record_; }
void Entry::bind(Invoke invoke, void *callable) {
    record_->invoke = invoke;
    record_->callable = callable;
}
void Entry::parameter(const char *type) {
    record_->names.push_back("arg" + std::to_string(record_->types.size()));
    record_->types.push_back(type);
    record_->defaults.push_back(EvoValue{});
    record_->optional.push_back(0);
}
void Entry::document(const char *text) { record_->doc = text; }
void Entry::argument(const char *name, EvoValue *fallback) {
    if (arguments_ >= record_->types.size())
        refuse("m.def(\"", record_->name, "\"): more py::arg than the ", record_->types.size(), " parameters of the function");
    if (name) record_->names[arguments_] = name;
    if (fallback) {
        record_->defaults[arguments_] = *fallback;
        record_->optional[arguments_] = 1;
    }
    ++arguments_;
}
void Entry::commit() {
    records.push_back(record_);
    record_ = nullptr;
}

}  // namespace evo

extern "C" __attribute__((visibility("default"))) int32_t evo_open(const EvoHost *host, const EvoModule **result,
                                                                   EvoError *error) {
    using namespace evo;
    if (host->version != EVO_ABI_VERSION) {
        set_error(error, EVO_ERROR_ARGUMENT, "the runner and the kernel were built for different versions of evo/abi.h");
        return EVO_ERROR_ARGUMENT;
    }
    set_host(host);
    if (module.version) { /* opened before */
        *result = &module;
        return EVO_OK;
    }
    return guarded(error, [&]() -> int32_t {
        for (Registration *each = registrations; each; each = each->next) {
            module.name = each->name;
            each->function();
        }
        for (Record *record : records) {
            for (size_t i = 0; i < record->types.size(); ++i)
                record->parameters.push_back({record->names[i].c_str(), record->types[i].c_str(), record->optional[i]});
            functions.push_back({record->name.c_str(), record->doc.c_str(), record->parameters.data(), record->parameters.size()});
        }
        module.functions = functions.data();
        module.function_count = functions.size();
        module.call = &call;
        module.dispose = [](EvoValue *value) { dispose(*value); };
        module.version = EVO_ABI_VERSION;
        *result = &module;
        return EVO_OK;
    });
}
