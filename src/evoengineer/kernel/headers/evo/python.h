/* Enough of Python.h for an extension's empty module: operators that TORCH_LIBRARY registers come with a PyInit_… that
   makes one, so that Python can import the file. It is never called here. */
#pragma once

#include "torch.h"

struct _object;
typedef struct _object PyObject;
typedef intptr_t Py_ssize_t;
struct PyMethodDef {
    const char *ml_name;
    PyObject *(*ml_meth)(PyObject *, PyObject *);
    int ml_flags;
    const char *ml_doc;
};
struct PyModuleDef_Base {
    void *m_init;
};
struct PyModuleDef {
    PyModuleDef_Base m_base;
    const char *m_name;
    const char *m_doc;
    Py_ssize_t m_size;
    PyMethodDef *m_methods;
    void *m_slots;
    void *m_traverse;
    void *m_clear;
    void *m_free;
};
inline PyObject *PyModule_Create(PyModuleDef *) { return nullptr; }

#define PyModuleDef_HEAD_INIT \
    { nullptr }
#define PyMODINIT_FUNC extern "C" __attribute__((visibility("default"))) PyObject *
