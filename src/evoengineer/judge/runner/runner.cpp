// The process that runs a candidate: loads its library, calls its functions, hands the results to the judge.
//
//   runner CHANNEL INPUTS OUTPUTS      file descriptors: a socket to the judge, two pieces of shared memory
//
// Commands, one per line; each is answered by lines of which the last is `ok …` or `error KIND CODE TEXT`:
//   policy GUARD_BYTES POISON REUSE    how memory is given out (storage.h)
//   open PATH                          → function NAME PARAMETERS …; ok
//   put SET COUNT + COUNT value lines  → ok; contents come from the shared memory
//   place SET COUNT + COUNT value lines  → at ADDRESS, for each tensor; ok; the judge fills them by another way
//   call SET FUNCTION FLUSH_BYTES      → output lines; ok EVENT_US DRAINED_US WALL_US LAUNCHES THREADS
//   fetch SET                          → output OFFSET BYTES …, input OFFSET BYTES …, guard …; ok
//   drop SET                           → ok
//
// The candidate shares this process, so nothing that is said here is believed without proof: results are compared
// with a reference that was never here, and on the simulated GPU times come from the device's process. CUDA
// is called through libcudart, NVIDIA's or ours: the same code drives both.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "launches.h"
#include "storage.h"
#include "threads.h"
#include "wire.h"

namespace {

struct Failure {
    EvoError error;
};

class Shared {
   public:
    Shared(int fd, int protection) : fd_(fd), protection_(protection) {}
    // The memory, mapped anew when the judge has made it larger.
    unsigned char* data() {
        struct stat now;
        if (fstat(fd_, &now) != 0) throw std::runtime_error("shared memory is gone");
        if (size_t(now.st_size) != bytes_) {
            if (bytes_) munmap(at_, bytes_);
            bytes_ = size_t(now.st_size);
            at_ = bytes_ ? mmap(nullptr, bytes_, protection_, MAP_SHARED, fd_, 0) : nullptr;
            if (at_ == MAP_FAILED) throw std::runtime_error("cannot map shared memory");
        }
        return static_cast<unsigned char*>(at_);
    }
    size_t bytes() {
        data();
        return bytes_;
    }

   private:
    int fd_, protection_;
    void* at_ = nullptr;
    size_t bytes_ = 0;
};

double now_us() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) * 1e6 + double(t.tv_nsec) * 1e-3;
}

void cuda(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    Failure failure{};
    failure.error.kind = EVO_ERROR_CUDA;
    failure.error.code = status;
    snprintf(failure.error.message, sizeof failure.error.message, "%s: %s (%s)", what, cudaGetErrorString(status),
             cudaGetErrorName(status));
    throw failure;
}

class Runner {
   public:
    Runner(int channel, int inputs, int outputs)
        : channel_(channel), inputs_(inputs, PROT_READ), outputs_(outputs, PROT_READ | PROT_WRITE) {
        host_.version = EVO_ABI_VERSION;
        host_.context = this;
        host_.allocate = [](void*, size_t bytes, int32_t type, int32_t, EvoError* error) {
            return allocate_storage(bytes, type, error);
        };
        host_.adopt = [](void*, void* data, size_t bytes, int32_t type, int32_t, void (*destroy)(void*, void*),
                         void* closure, EvoError*) { return adopt_storage(data, bytes, type, destroy, closure); };
        host_.retain = [](void*, EvoStorage* storage) { retain_storage(storage); };
        host_.release = [](void*, EvoStorage* storage) { release_storage(storage); };
        host_.warn = [](void*, const char* message) { fprintf(stderr, "warning: %s\n", message); };
    }

    void serve() {
        std::string line;
        while (channel_.read_line(&line)) {
            try {
                obey(line);
            } catch (const Failure& failure) {
                complain(failure.error);
            } catch (const std::exception& error) {
                EvoError plain{};
                plain.kind = EVO_ERROR_EXCEPTION;
                snprintf(plain.message, sizeof plain.message, "%s", error.what());
                complain(plain);
            }
        }
    }

   private:
    void obey(const std::string& line) {
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "policy") {
            AllocationPolicy policy;
            words >> policy.guard_bytes >> policy.poison >> policy.reuse;
            set_policy(policy);
            channel_.send("ok\n");
        } else if (command == "open") {
            std::string path;
            words >> path;
            open(from_hex(path));
        } else if (command == "put" || command == "place") {
            size_t set, count;
            words >> set >> count;
            auto& slot = sets_[set];
            if (!slot) slot = std::make_unique<ArgumentSet>();
            bool copy = command == "put";
            slot->fill(channel_, count, copy ? inputs_.data() : nullptr, copy ? inputs_.bytes() : 0);
            std::ostringstream text;
            for (const EvoTensor* tensor : slot->tensors())
                text << "at " << reinterpret_cast<uintptr_t>(tensor->data) << '\n';
            channel_.send(text.str() + "ok\n");
        } else if (command == "call") {
            size_t set, flush_bytes;
            std::string function;
            words >> set >> function >> flush_bytes;
            call(*sets_.at(set), function, flush_bytes);
        } else if (command == "fetch") {
            size_t set;
            words >> set;
            fetch(*sets_.at(set));
        } else if (command == "drop") {
            size_t set;
            words >> set;
            sets_.erase(set);
            settle();
            channel_.send("ok\n");
        } else {
            throw std::runtime_error("unknown command: " + line);
        }
    }

    void open(const std::string& path) {
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) throw std::runtime_error(dlerror());
        auto entry = reinterpret_cast<EvoOpen>(dlsym(library, EVO_OPEN_SYMBOL));
        if (!entry) throw std::runtime_error("the library has no PYBIND11_MODULE");
        Failure failure{};
        if (entry(&host_, &module_, &failure.error) != EVO_OK) throw failure;
        std::ostringstream text;
        for (size_t i = 0; i < module_->function_count; i++)
            text << "function " << to_hex(module_->functions[i].name) << ' ' << module_->functions[i].parameter_count
                 << '\n';
        channel_.send(text.str() + "ok\n");
    }

    // Everything that is not the candidate's own work happens before the first or after the last clock reading.
    void call(const ArgumentSet& set, const std::string& function, size_t flush_bytes) {
        keep_result();
        settle();
        if (flush_bytes) flush(flush_bytes);
        if (!start_) {
            cuda(cudaEventCreate(&start_), "cudaEventCreate");
            cuda(cudaEventCreate(&end_), "cudaEventCreate");
            cuda(cudaEventCreate(&drained_), "cudaEventCreate");
        }
        cuda(cudaDeviceSynchronize(), "before the call");
        Failure failure{};
        double begin = now_us();
        cuda(cudaEventRecord(start_), "cudaEventRecord");
        const uint64_t before = launches();
        int32_t status = module_->call(function.c_str(), set.values().data(), nullptr, set.values().size(), &result_,
                                       &failure.error);
        has_result_ = status == EVO_OK;
        const int64_t threads = unjoined_threads();
        cudaError_t recorded = cudaEventRecord(end_);
        cudaError_t finished = cudaDeviceSynchronize();
        double wall_us = now_us() - begin;
        if (status != EVO_OK) throw failure;
        cuda(finished, "the kernel failed");
        cuda(cudaGetLastError(), "a CUDA call failed");
        cuda(recorded, "cudaEventRecord");
        // An event that comes after all streams are idle: work beside the timed stream shows as a difference.
        cuda(cudaEventRecord(drained_), "cudaEventRecord");
        cuda(cudaEventSynchronize(drained_), "cudaEventSynchronize");
        float event_ms = 0, drained_ms = 0;
        cuda(cudaEventElapsedTime(&event_ms, start_, end_), "cudaEventElapsedTime");
        cuda(cudaEventElapsedTime(&drained_ms, start_, drained_), "cudaEventElapsedTime");
        std::ostringstream text;
        collect_outputs(result_, 0);
        for (const EvoTensor* tensor : returned_) text << "output " << describe_tensor(*tensor) << '\n';
        text << "ok " << event_ms * 1e3 << ' ' << drained_ms * 1e3 << ' ' << wall_us << ' ' << launches() - before << ' '
             << threads << '\n';
        dispose(earlier_, has_earlier_);
        channel_.send(text.str());
    }

    void collect_outputs(const EvoValue& value, int depth) {
        if (value.kind == EVO_TENSOR && value.tensor) {
            returned_.push_back(value.tensor);
        } else if ((value.kind == EVO_LIST || value.kind == EVO_TUPLE) && depth < 4) {
            for (size_t i = 0; i < value.sequence.count; i++) collect_outputs(value.sequence.items[i], depth + 1);
        } else {
            throw std::runtime_error("forward returned something that is not a tensor");
        }
    }

    void flush(size_t bytes) {
        if (bytes > flush_bytes_) {
            if (flush_memory_) cudaFree(flush_memory_);
            cuda(cudaMalloc(&flush_memory_, bytes), "memory to flush the L2 cache with");
            flush_bytes_ = bytes;
        }
        cuda(cudaMemset(flush_memory_, 0, bytes), "flushing the L2 cache");
    }

    void fetch(const ArgumentSet& set) {
        std::ostringstream text;
        size_t at = 0;
        for (const EvoTensor* tensor : returned_) at = copy_out(*tensor, "output", at, text);
        for (const EvoTensor* tensor : set.tensors()) at = copy_out(*tensor, "input", at, text);
        for (const GuardDamage& found : take_damage())
            text << "guard " << to_hex(found.what) << ' ' << (found.before ? "before" : "behind") << ' '
                 << found.distance << '\n';
        channel_.send(text.str() + "ok\n");
    }

    // All bytes from the first to the last element that the tensor reaches, as they lie in memory.
    size_t copy_out(const EvoTensor& tensor, const char* what, size_t at, std::ostringstream& text) {
        size_t bytes = span_bytes(tensor);
        const EvoStorage* storage = tensor.storage;
        if (bytes && storage) {
            auto first = static_cast<const char*>(tensor.data), start = static_cast<const char*>(storage->data);
            if (first < start || first + bytes > start + storage->bytes)
                throw std::runtime_error("a returned tensor reaches beyond its own memory");
        }
        if (at + bytes > outputs_.bytes()) throw std::runtime_error("the results are larger than they should be");
        if (bytes)
            cuda(cudaMemcpy(outputs_.data() + at, tensor.data, bytes,
                            tensor.device_type == EVO_CUDA ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost),
                 "reading a result");
        text << what << ' ' << at << ' ' << bytes << '\n';
        return (at + bytes + 255) & ~size_t(255);
    }

    static size_t span_bytes(const EvoTensor& tensor) {
        int64_t last = 0;
        for (int i = 0; i < tensor.dimensions; i++) {
            if (tensor.sizes[i] == 0) return 0;
            if (tensor.sizes[i] < 0 || tensor.strides[i] < 0) throw std::runtime_error("negative size or stride");
            last += (tensor.sizes[i] - 1) * tensor.strides[i];
        }
        return size_t(last + 1) * element_bytes(tensor.dtype);
    }

    static size_t element_bytes(int32_t dtype) {
        switch (dtype) {
            case EVO_UINT8: case EVO_INT8: case EVO_BOOL: case EVO_FLOAT8_E5M2: case EVO_FLOAT8_E4M3FN: return 1;
            case EVO_INT16: case EVO_FLOAT16: case EVO_BFLOAT16: case EVO_UINT16: return 2;
            case EVO_INT32: case EVO_FLOAT32: case EVO_UINT32: return 4;
            case EVO_INT64: case EVO_FLOAT64: case EVO_COMPLEX64: case EVO_UINT64: return 8;
            case EVO_COMPLEX128: return 16;
        }
        throw std::runtime_error("unknown dtype");
    }

    // Until the next call is over: so it cannot return the same memory by chance.
    void keep_result() {
        returned_.clear();
        dispose(earlier_, has_earlier_);
        std::swap(earlier_, result_);
        std::swap(has_earlier_, has_result_);
    }

    void dispose(EvoValue& value, bool& there) {
        if (there) module_->dispose(&value);
        there = false;
    }

    void complain(const EvoError& error) {
        std::ostringstream text;
        text << "error " << error.kind << ' ' << error.code << ' ' << to_hex(error.message) << '\n';
        channel_.send(text.str());
    }

    Channel channel_;
    Shared inputs_, outputs_;
    EvoHost host_{};
    const EvoModule* module_ = nullptr;
    std::map<size_t, std::unique_ptr<ArgumentSet>> sets_;
    EvoValue result_{}, earlier_{};
    bool has_result_ = false, has_earlier_ = false;
    std::vector<const EvoTensor*> returned_;
    cudaEvent_t start_ = nullptr, end_ = nullptr, drained_ = nullptr;
    void* flush_memory_ = nullptr;
    size_t flush_bytes_ = 0;
};

}  // namespace

int main(int count, char** words) {
    unjoined_threads();  // what is counted from here on
    if (count != 4) {
        fprintf(stderr, "usage: runner CHANNEL INPUTS OUTPUTS (file descriptors); the judge starts it\n");
        return 2;
    }
    Runner(atoi(words[1]), atoi(words[2]), atoi(words[3])).serve();
    _exit(0);  // without the candidate's destructors: there is nothing left that they could change
}
