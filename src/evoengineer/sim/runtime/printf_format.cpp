// Formats one device printf call: C's conversions, arguments from device memory.
//
// nvcc lays the arguments out one after the other, each aligned to its size: int-like values take 4
// bytes, long-like values, pointers and doubles 8. The conversion's own letters say which. The host's
// snprintf does the rendering of each conversion, as CUDA does on Linux.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "output.h"

namespace {

constexpr uint64_t kTextLimit = uint64_t(1) << 20;

// Takes the arguments of one call, in order.
class Arguments {
public:
    Arguments(PrintfMemory& memory, uint64_t address) : memory_(memory), next_(address) {}

    template <class T> T take() {
        T value{};
        if (failed_) return value;
        next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        if (memory_.readable(memory_.context, next_) < sizeof(T)) {
            failed_ = true;
            memory_.bad_address = next_;
            return value;
        }
        std::memcpy(&value, reinterpret_cast<const void*>(next_), sizeof(T));
        next_ += sizeof(T);
        ++count_;
        return value;
    }
    bool failed() const { return failed_; }
    void fail() { failed_ = true; }
    int count() const { return count_; }

private:
    PrintfMemory& memory_;
    uint64_t next_;
    int count_ = 0;
    bool failed_ = false;
};

// One conversion, as written between % and its letter.
struct Conversion {
    std::string flags;
    int width = -1;
    int precision = -1;
    bool is_long = false;
    int halves = 0;  // 'h' seen: 1 short, 2 char
    char letter = 0;

    std::string spec(const char* length) const {
        std::string text = "%" + flags;
        if (width >= 0) text += std::to_string(width);
        if (precision >= 0) text += "." + std::to_string(precision);
        return text + length + letter;
    }
};

template <class T> void render(std::string& text, const std::string& spec, T value) {
    char small[128];
    int size = std::snprintf(small, sizeof small, spec.c_str(), value);
    if (size < 0) return;
    if (size_t(size) < sizeof small) {
        text.append(small, size_t(size));
        return;
    }
    std::string large(size_t(size) + 1, '\0');
    std::snprintf(large.data(), large.size(), spec.c_str(), value);
    text.append(large.data(), size_t(size));
}

// A number in the format, or '*': then it is an argument.
bool read_number(const char*& at, Arguments& arguments, int& number) {
    if (*at == '*') {
        ++at;
        number = arguments.take<int32_t>();
        return true;
    }
    if (*at < '0' || *at > '9') return false;
    for (number = 0; *at >= '0' && *at <= '9'; ++at)
        number = std::min(number * 10 + (*at - '0'), 1 << 20);
    return true;
}

Conversion read_conversion(const char*& at, Arguments& arguments) {
    Conversion result;
    while (*at && std::strchr("-+ #0", *at)) result.flags += *at++;
    if (read_number(at, arguments, result.width) && result.width < 0) {
        result.flags += '-';
        result.width = -result.width;
    }
    if (*at == '.') {
        ++at;
        if (!read_number(at, arguments, result.precision)) result.precision = 0;
    }
    result.width = std::min(result.width, 1 << 20);
    result.precision = std::min(result.precision, 1 << 20);
    for (; *at && std::strchr("hlLqjzt", *at); ++at) {
        if (*at == 'h')
            ++result.halves;
        else if (*at != 'L')
            result.is_long = true;
    }
    if (*at) result.letter = *at++;
    return result;
}

void render_integer(const Conversion& conversion, Arguments& arguments, std::string& text) {
    bool is_signed = conversion.letter == 'd' || conversion.letter == 'i';
    uint64_t value;
    if (conversion.is_long) {
        value = arguments.take<uint64_t>();
    } else {
        uint32_t word = arguments.take<uint32_t>();
        if (conversion.halves == 1) word = is_signed ? uint32_t(int16_t(word)) : uint16_t(word);
        if (conversion.halves >= 2) word = is_signed ? uint32_t(int8_t(word)) : uint8_t(word);
        value = is_signed ? uint64_t(int64_t(int32_t(word))) : word;
    }
    render(text, conversion.spec("ll"), static_cast<unsigned long long>(value));
}

void render_text(const Conversion& conversion, PrintfMemory& memory, Arguments& arguments,
                 std::string& text) {
    uint64_t address = arguments.take<uint64_t>();
    std::string value = "(null)";
    uint64_t limit = conversion.precision >= 0 ? uint64_t(conversion.precision) : kTextLimit;
    if (address != 0 && !arguments.failed() && !read_text(memory, address, limit, value)) {
        arguments.fail();
        return;
    }
    render(text, conversion.spec(""), value.c_str());
}

}  // namespace

bool read_text(PrintfMemory& memory, uint64_t address, uint64_t limit, std::string& text) {
    uint64_t readable = memory.readable(memory.context, address);
    const char* start = reinterpret_cast<const char*>(address);
    uint64_t length = strnlen(start, std::min(readable, limit));
    if (length == readable && length < limit) {  // ran into the end of readable memory
        memory.bad_address = address + length;
        return false;
    }
    text.assign(start, length);
    return true;
}

int format_printf(PrintfMemory& memory, uint64_t format, uint64_t arguments_address,
                  std::string& text) {
    std::string pattern;
    if (!read_text(memory, format, kTextLimit, pattern)) return -1;
    Arguments arguments(memory, arguments_address);
    const char* at = pattern.c_str();
    while (*at && text.size() < kTextLimit) {  // a pattern can ask for more text than any memory holds
        size_t plain = std::strcspn(at, "%");
        text.append(at, plain);
        at += plain;
        if (!*at) break;
        const char* start = at++;
        Conversion conversion = read_conversion(at, arguments);
        if (arguments.failed()) return -1;
        switch (conversion.letter) {
            case '%': text += '%'; break;
            case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
                render_integer(conversion, arguments, text);
                break;
            case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
                render(text, conversion.spec(""), arguments.take<double>());
                break;
            case 'c': {
                // A zero character is text too, and snprintf's result counts it.
                render(text, conversion.spec(""), int(arguments.take<int32_t>()));
                break;
            }
            case 's': render_text(conversion, memory, arguments, text); break;
            case 'p':
                render(text, conversion.spec(""),
                       reinterpret_cast<const void*>(arguments.take<uint64_t>()));
                break;
            default: text.append(start, size_t(at - start)); break;  // as written, like CUDA
        }
        if (arguments.failed()) return -1;
    }
    return arguments.count();
}
