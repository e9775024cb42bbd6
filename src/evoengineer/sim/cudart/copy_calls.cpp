// The cudaMemcpy and cudaMemset families: every shape becomes a CopyWork or a SetWork.
#include <string.h>

#include "arrays.h"
#include "streams.h"

namespace {

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

Side flat(const void* pointer, size_t pitch) { return {number(pointer), pitch, 0}; }

CopyWork rectangle(Side target, Side source, size_t width, size_t height, int kind) {
    CopyWork copy;
    copy.target = target;
    copy.source = source;
    copy.width = width;
    copy.height = height;
    copy.kind = kind;
    return copy;
}

int start(CopyWork copy, cudaStream_t stream) {
    if (int status = check_copy(copy)) return status;
    Work work;
    work.kind = WorkKind::kCopy;
    work.copy = copy;
    return enqueue(stream, work);
}

// A copy in the legacy stream that returns when it is done.
int finish(CopyWork copy) {
    if (Capture* capture = active_capture()) {
        capture->invalid = true;
        return cudaErrorStreamCaptureImplicit;
    }
    if (int status = check_copy(copy)) return status;
    return execute_copy(copy, 0, true);
}

int start(SetWork set, cudaStream_t stream) {
    if (int status = check_set(set)) return status;
    Work work;
    work.kind = WorkKind::kSet;
    work.set = set;
    return enqueue(stream, work);
}

int symbol_side(const void* symbol, size_t offset, size_t count, Side* side) {
    int status;
    const Variable* variable = find_variable(symbol, &status);
    if (!variable) return status;
    if (offset + count > variable->bytes) return cudaErrorInvalidValue;
    *side = {variable->address + offset, count, 0};
    return cudaSuccess;
}

// `count` bytes of an array in row-major order from (x bytes, y): up to three rectangles.
std::vector<CopyWork> linear_array(const cudaArray* array, size_t x, size_t y, uint64_t linear, size_t count,
                                   int kind, bool to_array) {
    std::vector<CopyWork> parts;
    uint64_t pitch = array->pitch();
    while (count) {
        size_t width = std::min<size_t>(count, pitch - x), rows = 1;
        if (x == 0 && count >= pitch) rows = count / pitch;
        Side inside = side_of(array, x, y, 0), outside{linear, width, 0};
        parts.push_back(rectangle(to_array ? inside : outside, to_array ? outside : inside, width, rows, kind));
        linear += width * rows;
        count -= width * rows;
        y += rows;
        x = 0;
    }
    return parts;
}

}  // namespace

// Also used by graph nodes.
int copy_of(const cudaMemcpy3DParms& p, CopyWork* copy) {
    bool from_array = p.srcArray, to_array = p.dstArray;
    if ((from_array && !is_array(p.srcArray)) || (to_array && !is_array(p.dstArray)))
        return cudaErrorInvalidResourceHandle;
    if (from_array == (p.srcPtr.ptr != nullptr) || to_array == (p.dstPtr.ptr != nullptr))
        return cudaErrorInvalidValue;
    // With an array on either side, widths count its elements.
    size_t unit = from_array ? p.srcArray->element_bytes : to_array ? p.dstArray->element_bytes : 1;
    *copy = CopyWork();
    auto side = [](const cudaArray* array, const cudaPitchedPtr& pointer, const cudaPos& at) -> Side {
        if (array) return side_of(array, at.x * array->element_bytes, at.y, at.z);
        uint64_t slice = pointer.pitch * pointer.ysize;
        return {number(pointer.ptr) + at.z * slice + at.y * pointer.pitch + at.x, pointer.pitch, slice};
    };
    copy->source = side(p.srcArray, p.srcPtr, p.srcPos);
    copy->target = side(p.dstArray, p.dstPtr, p.dstPos);
    copy->width = p.extent.width * unit;
    copy->height = p.extent.height;
    copy->depth = p.extent.depth;
    copy->kind = p.kind;
    return cudaSuccess;
}

API cudaError_t cudaMemcpy(void* target, const void* source, size_t count, int kind) {
    ENTER();
    return done(finish(rectangle(flat(target, count), flat(source, count), count, 1, kind)));
}
PER_THREAD_DEFAULT(cudaMemcpy)

API cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t count, int kind, cudaStream_t stream) {
    ENTER();
    return done(start(rectangle(flat(target, count), flat(source, count), count, 1, kind), stream));
}
PER_THREAD(cudaMemcpyAsync)

API cudaError_t cudaMemcpyPeer(void* target, int to, const void* source, int from, size_t count) {
    if (to || from) return done(cudaErrorInvalidDevice);
    return cudaMemcpy(target, source, count, cudaMemcpyDeviceToDevice);
}

API cudaError_t cudaMemcpyPeerAsync(void* target, int to, const void* source, int from, size_t count,
                                    cudaStream_t stream) {
    if (to || from) return done(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(target, source, count, cudaMemcpyDeviceToDevice, stream);
}

API cudaError_t cudaMemcpyBatchAsync(void* const* targets, const void* const* sources, const size_t* sizes,
                                     size_t count, void*, size_t*, size_t, cudaStream_t stream) {
    ENTER();
    for (size_t i = 0; i < count; ++i) {
        CopyWork copy = rectangle(flat(targets[i], sizes[i]), flat(sources[i], sizes[i]), sizes[i], 1, cudaMemcpyDefault);
        if (int status = start(copy, stream)) return done(status);
    }
    return cudaSuccess;
}
PER_THREAD(cudaMemcpyBatchAsync)

API cudaError_t cudaMemcpy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                             size_t width, size_t height, int kind) {
    ENTER();
    return done(finish(rectangle(flat(target, target_pitch), flat(source, source_pitch), width, height, kind)));
}
PER_THREAD_DEFAULT(cudaMemcpy2D)

API cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                                  size_t width, size_t height, int kind, cudaStream_t stream) {
    ENTER();
    return done(start(rectangle(flat(target, target_pitch), flat(source, source_pitch), width, height, kind), stream));
}
PER_THREAD(cudaMemcpy2DAsync)

API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
    ENTER();
    CopyWork copy;
    if (int status = copy_of(*p, &copy)) return done(status);
    return done(finish(copy));
}
PER_THREAD_DEFAULT(cudaMemcpy3D)

API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
    ENTER();
    CopyWork copy;
    if (int status = copy_of(*p, &copy)) return done(status);
    return done(start(copy, stream));
}
PER_THREAD(cudaMemcpy3DAsync)

static cudaMemcpy3DParms without_peers(const cudaMemcpy3DPeerParms& p) {
    return {p.srcArray, p.srcPos, p.srcPtr, p.dstArray, p.dstPos, p.dstPtr, p.extent, cudaMemcpyDefault};
}

API cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
    cudaMemcpy3DParms plain = without_peers(*p);
    return cudaMemcpy3D(&plain);
}
PER_THREAD_DEFAULT(cudaMemcpy3DPeer)

API cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
    cudaMemcpy3DParms plain = without_peers(*p);
    return cudaMemcpy3DAsync(&plain, stream);
}
PER_THREAD(cudaMemcpy3DPeerAsync)

API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t target, size_t x, size_t y, const void* source, size_t pitch,
                                         size_t width, size_t height, int kind, cudaStream_t stream) {
    ENTER();
    if (!is_array(target)) return done(cudaErrorInvalidResourceHandle);
    return done(start(rectangle(side_of(target, x, y, 0), flat(source, pitch), width, height, kind), stream));
}
PER_THREAD(cudaMemcpy2DToArrayAsync)

API cudaError_t cudaMemcpy2DToArray(cudaArray_t target, size_t x, size_t y, const void* source, size_t pitch,
                                    size_t width, size_t height, int kind) {
    ENTER();
    if (!is_array(target)) return done(cudaErrorInvalidResourceHandle);
    return done(finish(rectangle(side_of(target, x, y, 0), flat(source, pitch), width, height, kind)));
}
PER_THREAD_DEFAULT(cudaMemcpy2DToArray)

API cudaError_t cudaMemcpy2DFromArrayAsync(void* target, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
                                           size_t width, size_t height, int kind, cudaStream_t stream) {
    ENTER();
    if (!is_array(source)) return done(cudaErrorInvalidResourceHandle);
    return done(start(rectangle(flat(target, pitch), side_of(source, x, y, 0), width, height, kind), stream));
}
PER_THREAD(cudaMemcpy2DFromArrayAsync)

API cudaError_t cudaMemcpy2DFromArray(void* target, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
                                      size_t width, size_t height, int kind) {
    ENTER();
    if (!is_array(source)) return done(cudaErrorInvalidResourceHandle);
    return done(finish(rectangle(flat(target, pitch), side_of(source, x, y, 0), width, height, kind)));
}
PER_THREAD_DEFAULT(cudaMemcpy2DFromArray)

API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t target, size_t tx, size_t ty, cudaArray_const_t source,
                                         size_t sx, size_t sy, size_t width, size_t height, int) {
    ENTER();
    if (!is_array(source) || !is_array(target)) return done(cudaErrorInvalidResourceHandle);
    return done(finish(rectangle(side_of(target, tx, ty, 0), side_of(source, sx, sy, 0), width, height,
                                 cudaMemcpyDeviceToDevice)));
}
PER_THREAD_DEFAULT(cudaMemcpy2DArrayToArray)

API cudaError_t cudaMemcpyArrayToArray(cudaArray_t target, size_t tx, size_t ty, cudaArray_const_t source, size_t sx,
                                       size_t sy, size_t count, int) {
    ENTER();
    if (!is_array(source) || !is_array(target)) return done(cudaErrorInvalidResourceHandle);
    uint64_t linear = side_of(source, sx, sy, 0).address;  // rows of an array follow one another without gaps
    for (CopyWork part : linear_array(target, tx, ty, linear, count, cudaMemcpyDeviceToDevice, true))
        if (int status = finish(part)) return done(status);
    return cudaSuccess;
}
PER_THREAD_DEFAULT(cudaMemcpyArrayToArray)

API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t target, size_t x, size_t y, const void* source, size_t count,
                                       int kind, cudaStream_t stream) {
    ENTER();
    if (!is_array(target)) return done(cudaErrorInvalidResourceHandle);
    for (const CopyWork& part : linear_array(target, x, y, number(source), count, kind, true))
        if (int status = start(part, stream)) return done(status);
    return cudaSuccess;
}
PER_THREAD(cudaMemcpyToArrayAsync)

API cudaError_t cudaMemcpyToArray(cudaArray_t target, size_t x, size_t y, const void* source, size_t count, int kind) {
    if (int status = cudaMemcpyToArrayAsync(target, x, y, source, count, kind, nullptr)) return status;
    ENTER();
    return done(synchronize());
}
PER_THREAD_DEFAULT(cudaMemcpyToArray)

API cudaError_t cudaMemcpyFromArrayAsync(void* target, cudaArray_const_t source, size_t x, size_t y, size_t count,
                                         int kind, cudaStream_t stream) {
    ENTER();
    if (!is_array(source)) return done(cudaErrorInvalidResourceHandle);
    for (const CopyWork& part : linear_array(source, x, y, number(target), count, kind, false))
        if (int status = start(part, stream)) return done(status);
    return cudaSuccess;
}
PER_THREAD(cudaMemcpyFromArrayAsync)

API cudaError_t cudaMemcpyFromArray(void* target, cudaArray_const_t source, size_t x, size_t y, size_t count, int kind) {
    if (int status = cudaMemcpyFromArrayAsync(target, source, x, y, count, kind, nullptr)) return status;
    ENTER();
    return done(synchronize());
}
PER_THREAD_DEFAULT(cudaMemcpyFromArray)

API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t count, size_t offset, int kind) {
    ENTER();
    Side side;
    if (int status = symbol_side(symbol, offset, count, &side)) return done(status);
    return done(finish(rectangle(side, flat(source, count), count, 1, kind)));
}
PER_THREAD_DEFAULT(cudaMemcpyToSymbol)

API cudaError_t cudaMemcpyFromSymbol(void* target, const void* symbol, size_t count, size_t offset, int kind) {
    ENTER();
    Side side;
    if (int status = symbol_side(symbol, offset, count, &side)) return done(status);
    return done(finish(rectangle(flat(target, count), side, count, 1, kind)));
}
PER_THREAD_DEFAULT(cudaMemcpyFromSymbol)

API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t count, size_t offset,
                                        int kind, cudaStream_t stream) {
    ENTER();
    Side side;
    if (int status = symbol_side(symbol, offset, count, &side)) return done(status);
    return done(start(rectangle(side, flat(source, count), count, 1, kind), stream));
}
PER_THREAD(cudaMemcpyToSymbolAsync)

API cudaError_t cudaMemcpyFromSymbolAsync(void* target, const void* symbol, size_t count, size_t offset,
                                          int kind, cudaStream_t stream) {
    ENTER();
    Side side;
    if (int status = symbol_side(symbol, offset, count, &side)) return done(status);
    return done(start(rectangle(flat(target, count), side, count, 1, kind), stream));
}
PER_THREAD(cudaMemcpyFromSymbolAsync)

API cudaError_t cudaMemsetAsync(void* target, int value, size_t count, cudaStream_t stream) {
    ENTER();
    return done(start(SetWork{number(target), count, count, 1, uint32_t(value), 1}, stream));
}
PER_THREAD(cudaMemsetAsync)

API cudaError_t cudaMemset(void* target, int value, size_t count) {
    return cudaMemsetAsync(target, value, count, nullptr);
}
PER_THREAD_DEFAULT(cudaMemset)

API cudaError_t cudaMemset2DAsync(void* target, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream) {
    ENTER();
    return done(start(SetWork{number(target), pitch, width, height, uint32_t(value), 1}, stream));
}
PER_THREAD(cudaMemset2DAsync)

API cudaError_t cudaMemset2D(void* target, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(target, pitch, value, width, height, nullptr);
}
PER_THREAD_DEFAULT(cudaMemset2D)

API cudaError_t cudaMemset3DAsync(cudaPitchedPtr target, int value, cudaExtent extent, cudaStream_t stream) {
    ENTER();
    for (size_t z = 0; z < extent.depth; ++z) {
        uint64_t slice = number(target.ptr) + z * target.pitch * target.ysize;
        SetWork set{slice, target.pitch, extent.width, extent.height, uint32_t(value), 1};
        if (int status = start(set, stream)) return done(status);
    }
    return cudaSuccess;
}
PER_THREAD(cudaMemset3DAsync)

API cudaError_t cudaMemset3D(cudaPitchedPtr target, int value, cudaExtent extent) {
    return cudaMemset3DAsync(target, value, extent, nullptr);
}
PER_THREAD_DEFAULT(cudaMemset3D)
