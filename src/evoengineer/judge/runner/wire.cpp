#include "wire.h"

#include <cuda_runtime_api.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>
#include <stdexcept>

#include "storage.h"

bool Channel::read_line(std::string* line) {
    size_t end;
    while ((end = buffer_.find('\n')) == std::string::npos) {
        char chunk[4096];
        ssize_t got = recv(fd_, chunk, sizeof chunk, 0);
        if (got <= 0) return false;
        buffer_.append(chunk, size_t(got));
    }
    *line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return true;
}

void Channel::send(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
        ssize_t sent = ::send(fd_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) _exit(3);
        at += size_t(sent);
    }
}

std::string to_hex(const std::string& text) {
    static const char digits[] = "0123456789abcdef";
    std::string hex = "x";  // never empty: an empty text is still a word
    for (unsigned char c : text) {
        hex += digits[c >> 4];
        hex += digits[c & 15];
    }
    return hex;
}

std::string from_hex(const std::string& hex) {
    std::string text;
    for (size_t i = 1; i + 1 < hex.size(); i += 2) text += char(std::stoi(hex.substr(i, 2), nullptr, 16));
    return text;
}

ArgumentSet::~ArgumentSet() {
    for (EvoTensor* tensor : tensors_) {
        release_storage(tensor->storage);
        delete tensor;
    }
}

void ArgumentSet::fill(Channel& channel, size_t count, const unsigned char* inputs, size_t input_bytes) {
    values_.clear();
    strings_.clear();
    sequences_.clear();
    next_tensor_ = 0;
    for (size_t i = 0; i < count; i++) values_.push_back(read_value(channel, inputs, input_bytes));
}

EvoValue ArgumentSet::read_value(Channel& channel, const unsigned char* inputs, size_t input_bytes) {
    std::string line, kind, word;
    if (!channel.read_line(&line)) throw std::runtime_error("the judge has gone");
    std::istringstream words(line);
    words >> kind;
    EvoValue value{};
    if (kind == "tensor") {
        EvoTensor tensor{};
        size_t offset, bytes;
        words >> tensor.dtype >> tensor.dimensions;
        for (int i = 0; i < tensor.dimensions; i++) words >> tensor.sizes[i];
        for (int i = 0; i < tensor.dimensions; i++) words >> tensor.strides[i];
        words >> offset >> bytes;
        if (!words || (inputs && offset + bytes > input_bytes)) throw std::runtime_error("malformed tensor: " + line);
        bool same = next_tensor_ < tensors_.size() && tensors_[next_tensor_]->storage->bytes == bytes;
        if (!same && next_tensor_ < tensors_.size()) throw std::runtime_error("a set was filled with other sizes");
        if (!same) {
            EvoError error{};
            tensor.storage = allocate_storage(bytes, EVO_CUDA, &error);
            if (!tensor.storage) throw std::runtime_error(error.message);
            name_storage(tensor.storage, "argument tensor " + std::to_string(next_tensor_ + 1));
            tensors_.push_back(new EvoTensor{});
        } else {
            tensor.storage = tensors_[next_tensor_]->storage;
        }
        tensor.data = tensor.storage->data;
        tensor.device_type = EVO_CUDA;
        if (inputs && bytes && cudaMemcpy(tensor.data, inputs + offset, bytes, cudaMemcpyHostToDevice) != cudaSuccess)
            throw std::runtime_error("cannot copy an input to the device");
        *tensors_[next_tensor_] = tensor;
        value.kind = EVO_TENSOR;
        value.tensor = tensors_[next_tensor_++];
    } else if (kind == "int" || kind == "bool") {
        value.kind = kind == "int" ? EVO_INTEGER : EVO_BOOLEAN;
        words >> value.integer;
    } else if (kind == "float") {
        words >> word;
        value.kind = EVO_FLOAT;
        value.number = strtod(word.c_str(), nullptr);
    } else if (kind == "string") {
        words >> word;
        strings_.push_back(from_hex(word));
        value.kind = EVO_STRING;
        value.string.text = strings_.back().c_str();
        value.string.length = strings_.back().size();
    } else if (kind == "list" || kind == "tuple") {
        size_t count;
        words >> count;
        std::vector<EvoValue> items;
        for (size_t i = 0; i < count; i++) items.push_back(read_value(channel, inputs, input_bytes));
        sequences_.push_back(std::move(items));
        value.kind = kind == "list" ? EVO_LIST : EVO_TUPLE;
        value.sequence.items = sequences_.back().data();
        value.sequence.count = count;
    } else if (kind != "none") {
        throw std::runtime_error("unknown value: " + line);
    }
    return value;
}

std::string describe_tensor(const EvoTensor& tensor) {
    std::ostringstream text;
    text << "tensor " << tensor.dtype << ' ' << tensor.dimensions;
    for (int i = 0; i < tensor.dimensions; i++) text << ' ' << tensor.sizes[i];
    for (int i = 0; i < tensor.dimensions; i++) text << ' ' << tensor.strides[i];
    text << ' ' << reinterpret_cast<uintptr_t>(tensor.data);
    text << (tensor.device_type == EVO_CUDA ? " cuda" : " cpu");
    return text.str();
}
