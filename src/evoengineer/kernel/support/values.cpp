/* Values that cross the boundary, and Python objects made of them. */
#include <stdlib.h>
#include <string.h>

#include "support.h"

namespace evo {

void give_string(const char *text, size_t length, EvoValue &value) {
    char *copy = static_cast<char *>(malloc(length + 1));
    memcpy(copy, text, length);
    copy[length] = 0;
    value.kind = EVO_STRING;
    value.string.text = copy;
    value.string.length = length;
}

EvoValue *give_sequence(int32_t kind, size_t count, EvoValue &value) {
    value.kind = kind;
    value.sequence.items = static_cast<EvoValue *>(calloc(count ? count : 1, sizeof(EvoValue)));
    value.sequence.count = count;
    return value.sequence.items;
}

void give_tensor(const at::Tensor &tensor, EvoValue &value) {
    if (!tensor.defined()) return; /* None, as in Python */
    EvoTensor *copy = static_cast<EvoTensor *>(malloc(sizeof(EvoTensor)));
    *copy = tensor.get();
    if (copy->storage) host().retain(host().context, copy->storage);
    value.kind = EVO_TENSOR;
    value.tensor = copy;
}

at::Tensor take_tensor(const EvoTensor &tensor) {
    if (tensor.storage) host().retain(host().context, tensor.storage);
    return at::Tensor(new TensorImpl{tensor, 1});
}

bool load_device(const EvoValue &value, c10::Device &device) {
    if (value.kind != EVO_STRING) return false;
    device = c10::Device(value.string.text);
    return true;
}

void dispose(EvoValue &value) {
    if (value.kind == EVO_STRING) {
        free(const_cast<char *>(value.string.text));
    } else if (value.kind == EVO_TENSOR) {
        if (value.tensor->storage) host().release(host().context, value.tensor->storage);
        free(value.tensor);
    } else if (value.kind == EVO_LIST || value.kind == EVO_TUPLE || value.kind == EVO_DICT) {
        for (size_t i = 0; i < value.sequence.count; ++i) dispose(value.sequence.items[i]);
        free(value.sequence.items);
    }
    value = {};
}

void copy_value(const EvoValue &source, EvoValue &target) {
    target = source;
    if (source.kind == EVO_STRING) {
        give_string(source.string.text, source.string.length, target);
    } else if (source.kind == EVO_TENSOR) {
        give_tensor(take_tensor(*source.tensor), target);
    } else if (source.kind == EVO_LIST || source.kind == EVO_TUPLE || source.kind == EVO_DICT) {
        EvoValue *items = give_sequence(source.kind, source.sequence.count, target);
        for (size_t i = 0; i < source.sequence.count; ++i) copy_value(source.sequence.items[i], items[i]);
    }
}

const char *kind_name(int32_t kind) {
    static const char *const names[] = {"None", "Tensor", "int", "float", "bool", "str", "list", "tuple", "dtype", "dict"};
    return kind >= 0 && kind <= EVO_DICT ? names[kind] : "?";
}

struct Node {
    EvoValue value;
    int64_t references;
};
Node *node_of(const EvoValue &value) {
    Node *node = new Node{{}, 1};
    copy_value(value, node->value);
    return node;
}
const EvoValue &value_of(const Node *node) { return node->value; }
void retain(Node *node) { __atomic_add_fetch(&node->references, 1, __ATOMIC_RELAXED); }
void release(Node *node) {
    if (__atomic_sub_fetch(&node->references, 1, __ATOMIC_ACQ_REL) != 0) return;
    dispose(node->value);
    delete node;
}
const EvoValue *find_item(const EvoValue &dictionary, const char *key) {
    if (dictionary.kind != EVO_DICT) return nullptr;
    for (size_t i = 0; i + 1 < dictionary.sequence.count; i += 2) {
        const EvoValue &name = dictionary.sequence.items[i];
        if (name.kind == EVO_STRING && strcmp(name.string.text, key) == 0) return &dictionary.sequence.items[i + 1];
    }
    return nullptr;
}
void fail_object(const EvoValue &value, const char *wanted) {
    Text text;
    text << "a Python object of type " << kind_name(value.kind) << " is not, or has no, " << wanted;
    throw pybind11::cast_error(EVO_ERROR_ARGUMENT, 0, text.c_str());
}

}  // namespace evo
