/* The boundary between a candidate's shared library and the process that runs it: plain C, nothing else crosses.

   The runner loads the library, looks up `evo_open` (EVO_OPEN_SYMBOL) and gives it an EvoHost; it gets an
   EvoModule that lists the functions of PYBIND11_MODULE. No C++ exception leaves the library: every call
   returns EVO_OK or the kind of its failure, with the text in an EvoError.

   Who owns what
   - Arguments belong to the runner and stay unchanged during the call. The library retains the storage of a
     tensor that it keeps.
   - A result belongs to the library until the runner calls `module->dispose(&result)`, once, after which its
     strings, sequences and tensors are gone. The runner retains a storage that it wants beyond that.
   - EvoModule and all it points to live as long as the library.
   - EvoHost lives at least as long as the library. Its callbacks may be called whenever the library's code
     runs, static constructors excepted, from any thread. */
#ifndef EVO_ABI_H
#define EVO_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EVO_ABI_VERSION 1
#define EVO_MAX_DIMENSIONS 16
#define EVO_OPEN_SYMBOL "evo_open"

/* The numbers are PyTorch's (c10::ScalarType). */
enum EvoDtype {
    EVO_UINT8 = 0,
    EVO_INT8 = 1,
    EVO_INT16 = 2,
    EVO_INT32 = 3,
    EVO_INT64 = 4,
    EVO_FLOAT16 = 5,
    EVO_FLOAT32 = 6,
    EVO_FLOAT64 = 7,
    EVO_COMPLEX64 = 9,
    EVO_COMPLEX128 = 10,
    EVO_BOOL = 11,
    EVO_BFLOAT16 = 15,
    EVO_FLOAT8_E5M2 = 23,
    EVO_FLOAT8_E4M3FN = 24,
    EVO_UINT16 = 27,
    EVO_UINT32 = 28,
    EVO_UINT64 = 29
};

enum EvoDeviceType { EVO_CPU = 0, EVO_CUDA = 1 };

/* A piece of memory with a count of references. The host makes storages and may keep more behind these
   fields; the library reads them and never copies a storage. */
typedef struct EvoStorage {
    void *data;
    size_t bytes;
    int32_t device_type;
    int32_t device_index; /* 0 for the CPU */
} EvoStorage;

typedef struct EvoTensor {
    EvoStorage *storage; /* null: memory that nobody here owns (torch::from_blob) */
    void *data;          /* the first element: storage->data + storage_offset * size of an element */
    int64_t storage_offset;
    int32_t dtype; /* EvoDtype */
    int32_t device_type;
    int32_t device_index;
    int32_t dimensions;
    int64_t sizes[EVO_MAX_DIMENSIONS];
    int64_t strides[EVO_MAX_DIMENSIONS]; /* in elements */
} EvoTensor;

/* Python's values. A torch.device is an EVO_STRING ("cuda:0"). */
enum EvoValueKind {
    EVO_NONE = 0,
    EVO_TENSOR = 1,
    EVO_INTEGER = 2,
    EVO_FLOAT = 3,
    EVO_BOOLEAN = 4,
    EVO_STRING = 5,
    EVO_LIST = 6,
    EVO_TUPLE = 7,
    EVO_DTYPE = 8,
    EVO_DICT = 9 /* keys and values in turn */
};

typedef struct EvoValue {
    int32_t kind; /* EvoValueKind */
    union {
        int64_t integer; /* EVO_INTEGER, EVO_BOOLEAN (0 or 1), EVO_DTYPE */
        double number;   /* EVO_FLOAT */
        EvoTensor *tensor;
        struct {
            const char *text; /* ends with a zero, too */
            size_t length;
        } string;
        struct {
            struct EvoValue *items;
            size_t count;
        } sequence; /* EVO_LIST, EVO_TUPLE, EVO_DICT */
    };
} EvoValue;

enum EvoErrorKind {
    EVO_OK = 0,
    EVO_ERROR_CHECK = 1,       /* TORCH_CHECK and its relatives */
    EVO_ERROR_CUDA = 2,        /* a CUDA call failed; `code` is the cudaError_t */
    EVO_ERROR_ARGUMENT = 3,    /* number or kind of arguments; in `evo_open`: another ABI version */
    EVO_ERROR_EXCEPTION = 4,   /* another exception; `message` is its what() */
    EVO_ERROR_MEMORY = 5,      /* the host refused an allocation */
    EVO_ERROR_UNSUPPORTED = 6, /* PyTorch can do it, these headers cannot */
    EVO_ERROR_NAME = 7         /* no function of that name */
};

typedef struct EvoError {
    int32_t kind; /* EvoErrorKind */
    int32_t code;
    char message[4088]; /* cut when longer, always ends with a zero */
} EvoError;

typedef struct EvoHost {
    uint32_t version; /* EVO_ABI_VERSION */
    int32_t device_index; /* the device that is current when a function is called */
    void *context; /* first argument of every callback */
    /* The cudaStream_t that is current when a function is called; read at each call. */
    void *stream;
    /* A storage of `bytes` (may be 0) with one reference. Its contents are undefined (the host may poison
       them), its data is aligned to 256 bytes or more. Null when there is no memory: `error` is filled in. */
    EvoStorage *(*allocate)(void *context, size_t bytes, int32_t device_type, int32_t device_index, EvoError *error);
    /* Memory of the library's own as a storage: the last release calls `destroy(data, closure)`, unless null. */
    EvoStorage *(*adopt)(void *context, void *data, size_t bytes, int32_t device_type, int32_t device_index,
                         void (*destroy)(void *data, void *closure), void *closure, EvoError *error);
    void (*retain)(void *context, EvoStorage *storage);
    void (*release)(void *context, EvoStorage *storage);
    /* A warning (TORCH_WARN) of the candidate. */
    void (*warn)(void *context, const char *message);
} EvoHost;

typedef struct EvoParameter {
    const char *name; /* from py::arg, else "arg0", "arg1" … */
    const char *type; /* as Python would show it: "Tensor", "int", "Optional[Tensor]", "List[int]" … */
    int32_t optional; /* has a default: may be left out by position */
} EvoParameter;

typedef struct EvoFunction {
    const char *name; /* as given to m.def; "namespace::name" for TORCH_LIBRARY */
    const char *doc;
    const EvoParameter *parameters;
    size_t parameter_count;
} EvoFunction;

typedef struct EvoModule {
    uint32_t version; /* EVO_ABI_VERSION */
    const char *name; /* TORCH_EXTENSION_NAME */
    const EvoFunction *functions; /* in order of definition; overloads share a name */
    size_t function_count;
    /* Calls the first overload of `name` that takes these arguments. `names` is null, or has an entry for each
       argument: null where it is given by position, else the name of its parameter (positions come first).
       Returns EVO_OK and fills in `result`, or an EvoErrorKind and fills in `error`. */
    int32_t (*call)(const char *name, const EvoValue *arguments, const char *const *names, size_t count,
                    EvoValue *result, EvoError *error);
    void (*dispose)(EvoValue *result);
} EvoModule;

/* The function that the library exports. `module` is set when it returns EVO_OK. */
typedef int32_t (*EvoOpen)(const EvoHost *host, const EvoModule **module, EvoError *error);

#ifdef __cplusplus
}
#endif

#endif
