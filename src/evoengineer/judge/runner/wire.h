// The judge's side of the conversation: lines of words over a socket, values among them.
//
//   tensor DTYPE NDIM SIZE… STRIDE… OFFSET BYTES    contents at OFFSET of the shared input memory
//   int N | float HEX | bool 0|1 | string HEX | none | list N | tuple N    (N values follow)
#pragma once
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "evo/abi.h"

class Channel {
   public:
    explicit Channel(int fd) : fd_(fd) {}
    bool read_line(std::string* line);  // false: the judge has gone
    void send(const std::string& text);

   private:
    int fd_;
    std::string buffer_;
};

std::string to_hex(const std::string& text);
std::string from_hex(const std::string& hex);

// Arguments of one call, kept on the device under a number. Filled again with the same sizes, they keep their
// addresses: contents change under pointers that the candidate has seen.
class ArgumentSet {
   public:
    ~ArgumentSet();
    // Reads `count` values from the channel; contents of tensors come from `inputs`, unless that is null: then the
    // memory is only allocated, for the judge to fill it from elsewhere.
    void fill(Channel& channel, size_t count, const unsigned char* inputs, size_t input_bytes);
    const std::vector<EvoValue>& values() const { return values_; }
    const std::vector<EvoTensor*>& tensors() const { return tensors_; }

   private:
    EvoValue read_value(Channel& channel, const unsigned char* inputs, size_t input_bytes);

    std::vector<EvoValue> values_;
    std::vector<EvoTensor*> tensors_;  // in order of appearance; owned
    std::deque<std::string> strings_;
    std::deque<std::vector<EvoValue>> sequences_;
    size_t next_tensor_ = 0;
};

// `tensor DTYPE NDIM SIZE… STRIDE… ADDRESS cuda|cpu`, for a returned tensor.
std::string describe_tensor(const EvoTensor& tensor);
