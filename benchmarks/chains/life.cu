// A step of a game of life in a cube of cells that wraps around: 26 neighbours, survival with 5 to 7, birth with 6.
// From a thread per cell, through slices of the cube in shared memory, to four cells in a word, whose neighbours
// are counted together. SIZE, the cells along an edge, is a multiple of 16 (of 4 for `words`), up to 4096 for `words`.
#include "common.h"

using Cell = unsigned char;

// A cell per thread of a 16 x 8 x 8 block.
__global__ void direct(Cell* now, Cell* next, size_t edge) {
    const int z = blockDim.z * blockIdx.z + threadIdx.z;
    const int y = blockDim.y * blockIdx.y + threadIdx.y;
    const int x = blockDim.x * blockIdx.x + threadIdx.x;
    const int below = (z + edge - 1) % edge * edge * edge, level = z * edge * edge, above = (z + 1) % edge * edge * edge;
    const int up = (y + edge - 1) % edge * edge, same = y * edge, down = (y + 1) % edge * edge;
    const int left = (x + edge - 1) % edge, mid = x, right = (x + 1) % edge;
    const Cell alive = now[level + same + mid];
    const Cell neighbours =
        now[below + up + left] + now[below + up + mid] + now[below + up + right] +
        now[below + same + left] + now[below + same + mid] + now[below + same + right] +
        now[below + down + left] + now[below + down + mid] + now[below + down + right] +
        now[level + up + left] + now[level + up + mid] + now[level + up + right] +
        now[level + same + left] + now[level + same + right] +
        now[level + down + left] + now[level + down + mid] + now[level + down + right] +
        now[above + up + left] + now[above + up + mid] + now[above + up + right] +
        now[above + same + left] + now[above + same + mid] + now[above + same + right] +
        now[above + down + left] + now[above + down + mid] + now[above + down + right];
    if (alive == 1) next[level + same + mid] = neighbours < 5 || neighbours > 7 ? 0 : 1;
    else next[level + same + mid] = neighbours == 6 ? 1 : 0;
}

constexpr int kTile = 16, kInner = 14, kDepth = 14;

// The neighbours in one slice, and those in the cell's own slice.
__device__ int nine(const Cell (*slice)[kTile], int y, int x) {
    return slice[y - 1][x - 1] + slice[y - 1][x] + slice[y - 1][x + 1] + slice[y][x - 1] + slice[y][x] + slice[y][x + 1] +
           slice[y + 1][x - 1] + slice[y + 1][x] + slice[y + 1][x + 1];
}
__device__ int eight(const Cell (*slice)[kTile], int y, int x) {
    return slice[y - 1][x - 1] + slice[y - 1][x] + slice[y - 1][x + 1] + slice[y][x - 1] + slice[y][x + 1] +
           slice[y + 1][x - 1] + slice[y + 1][x] + slice[y + 1][x + 1];
}

// Blocks of 16 x 16 threads keep three slices and walk through 14 of them; the threads at the rim only load.
__global__ void slices(Cell* now, Cell* next, size_t edge) {
    __shared__ Cell behind[kTile][kTile], level[kTile][kTile], ahead[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int first = kDepth * blockIdx.z, y = kInner * blockIdx.y + ty - 1, x = kInner * blockIdx.x + tx - 1;
    const int place = ((y + edge) % edge) * edge + (x + edge) % edge, area = edge * edge;
    behind[ty][tx] = now[((first + edge - 1) % edge) * area + place];
    level[ty][tx] = now[first * area + place];
    for (int z = first; z < first + kDepth; ++z) {
        ahead[ty][tx] = now[((z + 1) % edge) * area + place];
        __syncthreads();
        if (unsigned(z) < edge && unsigned(y) < edge && unsigned(x) < edge && unsigned(tx - 1) < kTile - 2 &&
            unsigned(ty - 1) < kTile - 2) {
            const Cell neighbours = eight(level, ty, tx) + nine(behind, ty, tx) + nine(ahead, ty, tx);
            if (level[ty][tx] == 1) next[z * area + place] = neighbours < 5 || neighbours > 7 ? 0 : 1;
            else next[z * area + place] = neighbours == 6 ? 1 : 0;
        }
        __syncthreads();
        behind[ty][tx] = level[ty][tx];
        level[ty][tx] = ahead[ty][tx];
    }
}

constexpr int kLevels = 4;

// A block has a whole row in words of four cells, on four levels. It adds the rows around in words, exchanges the sums
// along the row through shared memory, and takes the words apart only to decide.
__global__ void words(unsigned* now, unsigned* next, size_t width, size_t edge) {
    extern __shared__ unsigned shared[];
    unsigned *own = shared, *sums = shared + width * kLevels;
    const Cell* cells = reinterpret_cast<const Cell*>(own);
    const int y = blockIdx.y, first = blockIdx.z * kLevels, x = threadIdx.x;
    int rows[3];
    rows[0] = (y + edge - 1) % edge;
    rows[1] = y;
    rows[2] = (y + 1) % edge;
    unsigned counts[kLevels + 2];
#pragma unroll
    for (int i = 0; i < kLevels + 2; ++i) {
        const int z = (first + i - 1 + edge) % edge;
        counts[i] = 0;
#pragma unroll
        for (int j = 0; j < 3; ++j) counts[i] += now[(z * edge + rows[j]) * width + x];
    }
#pragma unroll
    for (int i = 0; i < kLevels; ++i) own[i * width + x] = now[(first + i) * width * edge + y * width + x];
#pragma unroll
    for (int i = 0; i < kLevels; ++i) counts[i] = counts[i] + counts[i + 1] + counts[i + 2];
#pragma unroll
    for (int i = 0; i < kLevels; ++i) sums[i * (width + 2) + x + 1] = counts[i];
    __syncthreads();
    if (x < kLevels) {
        sums[x * (width + 2)] = sums[x * (width + 2) + width];
        sums[x * (width + 2) + width + 1] = sums[x * (width + 2) + 1];
    }
    __syncthreads();
    unsigned states[4];
    for (int i = 0; i < kLevels; ++i) {
        const unsigned left = sums[i * (width + 2) + x], right = sums[i * (width + 2) + x + 2];
        unsigned sum = sums[i * (width + 2) + x + 1];
        sum = sum + (sum >> 8) + (right << 24) + (sum << 8) + (left >> 24);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned count = sum & 0xff;   // with the cell itself
            sum = sum >> 8;
            if (count == 6 || (6 <= count && count <= 8 && cells[(i * width + x) * 4 + j])) states[j] = 1;
            else states[j] = 0;
        }
        // count == 6 of a living cell means five neighbours, of a dead one six: both live on.
        next[((first + i) * edge + y) * width + x] = states[0] + (states[1] << 8) + (states[2] << 16) + (states[3] << 24);
    }
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {1024}, {32});
    const size_t edge = run.size(0), width = edge / 4, cells = edge * edge * edge;
    chain::Array<Cell> now(cells), next(cells);
    std::vector<int> expected;
    if (run.verify) {
        now.fill([](size_t i) { return chain::pattern(i, 1) > 0.5f ? 1 : 0; });
        expected.resize(cells);
        for (size_t z = 0; z < edge; ++z)
            for (size_t y = 0; y < edge; ++y)
                for (size_t x = 0; x < edge; ++x) {
                    int count = 0;
                    for (size_t i = edge - 1; i <= edge + 1; ++i)
                        for (size_t j = edge - 1; j <= edge + 1; ++j)
                            for (size_t k = edge - 1; k <= edge + 1; ++k)
                                count += now.host[((z + i) % edge * edge + (y + j) % edge) * edge + (x + k) % edge];
                    const int alive = now.host[(z * edge + y) * edge + x];
                    count -= alive;
                    expected[(z * edge + y) * edge + x] = alive ? count >= 5 && count <= 7 : count == 6;
                }
    }
    auto prepare = [&] { if (run.verify) chain::poison(next); };
    auto check = [&] { return chain::close(next, expected, 0.0); };
    const int e = static_cast<int>(edge);
    const dim3 by_cells(chain::ceil_div(e, 16), chain::ceil_div(e, 8), chain::ceil_div(e, 8));
    const dim3 by_slices(chain::ceil_div(e, kInner), chain::ceil_div(e, kInner), chain::ceil_div(e, kDepth));
    const dim3 by_rows(1, e, e / kLevels);
    const size_t bytes = (width * kLevels + (width + 2) * (kLevels + 2)) * sizeof(unsigned);
    unsigned *now_words = reinterpret_cast<unsigned*>(now.data), *next_words = reinterpret_cast<unsigned*>(next.data);
    run.variant("direct", [&] { direct<<<by_cells, dim3(16, 8, 8)>>>(now, next, edge); }, check, prepare);
    run.variant("slices", [&] { slices<<<by_slices, dim3(kTile, kTile)>>>(now, next, edge); }, check, prepare);
    run.variant("words", [&] { words<<<by_rows, width, bytes>>>(now_words, next_words, width, edge); }, check, prepare);
    return run.finish();
}
