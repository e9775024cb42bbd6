// Arguments: `name=value` in any order, then `--`, then the command.
#include "spec.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

int message_fd = 2;

void fail(const char* stage, const char* object) {
    Message message{Message::kFailure, errno, {}};
    snprintf(message.stage, sizeof message.stage, "%s%s%s", stage, *object ? " " : "", object);
    if (write(message_fd, &message, sizeof message) < 0) _exit(125);
    _exit(125);
}

void check(bool good, const char* stage, const char* object) {
    if (!good) fail(stage, object);
}

static void append(List& list, const char* item) {
    errno = E2BIG;
    check(list.count < kMaxEntries, "argument", item);
    list.items[list.count++] = item;
}

static void enable_layer(Spec& spec, const char* name) {
    struct { const char* name; bool* flag; } layers[] = {
        {"namespaces", &spec.namespaces}, {"root", &spec.root},       {"proc", &spec.proc},
        {"landlock", &spec.landlock},     {"seccomp", &spec.seccomp},
    };
    for (auto& layer : layers)
        if (!strcmp(layer.name, name)) {
            *layer.flag = true;
            return;
        }
    errno = EINVAL;
    fail("argument layer", name);
}

Spec parse(int argc, char** argv) {
    Spec spec;
    struct { const char* name; List* list; } lists[] = {
        {"readable", &spec.readable}, {"writable", &spec.writable},       {"device", &spec.devices},
        {"link", &spec.links},        {"target", &spec.targets},          {"environment", &spec.environment},
    };
    struct { const char* name; uint64_t* value; } numbers[] = {
        {"memory_bytes", &spec.memory_bytes}, {"file_bytes", &spec.file_bytes},
        {"disk_bytes", &spec.disk_bytes},     {"wall_ms", &spec.wall_ms},
        {"cpu_ms", &spec.cpu_ms},             {"tasks", &spec.tasks},
        {"open_files", &spec.open_files},
    };
    for (int i = 1; i < argc; i++) {
        char* name = argv[i];
        if (!strcmp(name, "--")) {
            spec.command = argv + i + 1;
            break;
        }
        char* equals = strchr(name, '=');
        errno = EINVAL;
        check(equals != nullptr, "argument", name);
        const char* value = equals + 1;
        size_t length = size_t(equals - name);
        auto is = [&](const char* other) { return strlen(other) == length && !strncmp(name, other, length); };
        bool known = true;
        if (is("parent")) spec.parent = pid_t(atol(value));
        else if (is("report")) spec.report = atoi(value);
        else if (is("layer")) enable_layer(spec, value);
        else if (is("directory")) spec.directory = value;
        else if (is("network")) spec.network = *value == '1';
        else if (is("gpu")) spec.gpu = *value == '1';
        else if (is("programs")) spec.programs = *value == '1';
        else if (is("keep")) {
            check(spec.keep_count < kMaxEntries, "argument", name);
            spec.keep[spec.keep_count++] = atoi(value);
        } else {
            known = false;
            for (auto& each : lists)
                if (is(each.name)) append(*each.list, value), known = true;
            for (auto& each : numbers)
                if (is(each.name)) *each.value = strtoull(value, nullptr, 10), known = true;
        }
        check(known, "argument", name);
    }
    errno = EINVAL;
    check(spec.command && *spec.command && spec.report >= 0 && spec.parent > 0, "arguments", "are incomplete");
    check(spec.links.count == spec.targets.count, "arguments", "link and target");
    return spec;
}
