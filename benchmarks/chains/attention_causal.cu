// Causal attention for heads of 64 floats without tensor cores, tile by tile with a running softmax: from a thread per
// row to four by four results per thread in registers. Tiles have 32 queries and 32 keys. SIZES are the length of the
// sequence (a multiple of 32), heads and batch. Compile with --use_fast_math, as published.
#include "common.h"

constexpr int kDim = 64, kRows = 32, kKeys = 32;

// A block of 32 threads per head, a thread per query. Keys outside, queries inside: results and the softmax's maxima
// and sums go to memory and back with every tile. The dimension is not known to the compiler.
__global__ void row_per_thread(const float* q, const float* k, const float* v, float* __restrict__ out, float* sums, float* maxima,
                               int heads, int length, int dim, float scale) {
    extern __shared__ float shared[];
    float *q_tile = shared, *k_tile = shared + kRows * dim, *v_tile = k_tile + kKeys * dim, *scores = v_tile + kKeys * dim;
    const int thread = threadIdx.x;
    const int head = blockIdx.x * (heads * length * dim) + blockIdx.y * (length * dim);
    const int head_rows = blockIdx.x * (heads * length) + blockIdx.y * length;
    const int tiles = (length + kKeys - 1) / kKeys, row_tiles = (length + kRows - 1) / kRows;
    for (int j = 0; j < tiles; ++j) {
        const int keys = head + j * kKeys * dim;
        if (j * kKeys + thread < length)
            for (int x = 0; x < dim; ++x) {
                k_tile[thread * dim + x] = k[keys + thread * dim + x];
                v_tile[thread * dim + x] = v[keys + thread * dim + x];
            }
        __syncthreads();
        for (int i = j; i < row_tiles; ++i) {
            if (i * kRows + thread >= length) break;
            const int queries = head + i * kRows * dim, rows = head_rows + i * kRows;
            for (int x = 0; x < dim; ++x) q_tile[thread * dim + x] = q[queries + thread * dim + x];
            const float old_maximum = maxima[rows + thread], old_sum = sums[rows + thread];
            float maximum = -INFINITY;
            for (int x = 0; x < kKeys; ++x) {
                if (j * kKeys + x >= length) break;
                float score = 0.0f;
                for (int y = 0; y < dim; ++y) score += q_tile[thread * dim + y] * k_tile[x * dim + y];
                score *= scale;
                if (i * kRows + thread < j * kKeys + x) score = -INFINITY;
                scores[thread * kKeys + x] = score;
                if (score > maximum) maximum = score;
            }
            float sum = 0.0f;
            for (int x = 0; x < kKeys; ++x) {
                if (j * kKeys + x >= length) break;
                if (i * kRows + thread < j * kKeys + x) scores[thread * kKeys + x] = 0.0f;
                else scores[thread * kKeys + x] = __expf(scores[thread * kKeys + x] - maximum);
                sum += scores[thread * kKeys + x];
            }
            const float new_maximum = max(old_maximum, maximum);
            const float new_sum = __expf(old_maximum - new_maximum) * old_sum + __expf(maximum - new_maximum) * sum;
            const float of_old = __expf(old_maximum - new_maximum), of_new = __expf(maximum - new_maximum);
            for (int x = 0; x < dim; ++x) {
                float value = 0.0f;
                for (int y = 0; y < kKeys; ++y) {
                    if (j * kKeys + y >= length) break;
                    value += scores[thread * kKeys + y] * v_tile[y * dim + x];
                }
                float* place = &out[queries + thread * dim + x];
                *place = (1.0f / new_sum) * (old_sum * of_old * *place + of_new * value);
            }
            maxima[rows + thread] = new_maximum;
            sums[rows + thread] = new_sum;
        }
        __syncthreads();
    }
}

// Threads along the head's elements copy rows of a tile to shared memory.
template <int kThreads, int kCount>
__device__ void copy_rows(const float* from, float* to, int first, int length) {
    for (int turn = 0; turn < (kCount * kDim + kThreads - 1) / kThreads; ++turn) {
        const int i = turn * kThreads + threadIdx.x;
        if (i < kCount * kDim) {
            const int row = i / kDim, column = i % kDim;
            if (first + row < length) to[row * kDim + column] = from[(first + row) * kDim + column];
        }
    }
}

// What a warp, a row of the tile's scores, makes of them: the maximum, the sum, and the exponentials in their place.
__device__ void softmax_row(float* scores, int row, int column, float& maximum, float& sum) {
    maximum = -INFINITY;
    for (int x = 0; x < kKeys; ++x) maximum = fmaxf(maximum, scores[row * kKeys + x]);
    scores[row * kKeys + column] = __expf(scores[row * kKeys + column] - maximum);
    __syncthreads();
    sum = 0.0f;
    for (int x = 0; x < kKeys; ++x) sum += scores[row * kKeys + x];
}

// A block of 32 x 32 threads per head, a thread per score; the same order of tiles.
__global__ void score_per_thread(const float* q, const float* k, const float* v, float* __restrict__ out, float* sums, float* maxima,
                                 int length, float scale) {
    constexpr int kThreads = kRows * kKeys, kEach = kDim / kKeys;
    __shared__ float q_tile[kRows * kDim], k_tile[kKeys * kDim], v_tile[kKeys * kDim], scores[kRows * kKeys], old[kRows * kDim];
    __shared__ float row_maxima[kRows], row_sums[kRows];
    const int row = threadIdx.x / kKeys, column = threadIdx.x % kKeys;
    const int head = blockIdx.x * length * kDim, head_rows = blockIdx.x * length;
    const int tiles = (length + kKeys - 1) / kKeys, row_tiles = (length + kRows - 1) / kRows;
    for (int j = 0; j < tiles; ++j) {
        copy_rows<kThreads, kKeys>(k + head, k_tile, j * kKeys, length);
        copy_rows<kThreads, kKeys>(v + head, v_tile, j * kKeys, length);
        __syncthreads();
        for (int i = j; i < row_tiles; ++i) {
            copy_rows<kThreads, kRows>(q + head, q_tile, i * kRows, length);
            copy_rows<kThreads, kRows>(out + head, old, i * kRows, length);
            __syncthreads();
            if (column == 0) {
                row_maxima[row] = maxima[head_rows + i * kRows + row];
                row_sums[row] = sums[head_rows + i * kRows + row];
            }
            __syncthreads();
            float score = 0.0f;
            for (int x = 0; x < kDim; ++x) score += q_tile[row * kDim + x] * k_tile[column * kDim + x];
            score *= scale;
            if (j * kKeys + column > i * kRows + row) score = -INFINITY;
            scores[row * kKeys + column] = score;
            __syncthreads();
            float maximum, sum;
            softmax_row(scores, row, column, maximum, sum);
            const float old_maximum = row_maxima[row], old_sum = row_sums[row];
            const float new_maximum = fmaxf(maximum, old_maximum);
            const float new_sum = __expf(old_maximum - new_maximum) * old_sum + __expf(maximum - new_maximum) * sum;
            for (int e = 0; e < kEach; ++e) {
                const int x = column + e * kKeys;
                float value = 0.0f;
                for (int y = 0; y < kKeys; ++y) value += scores[row * kKeys + y] * v_tile[y * kDim + x];
                out[head + (i * kRows + row) * kDim + x] =
                    (1.0f / new_sum) * (old_sum * __expf(old_maximum - new_maximum) * old[row * kDim + x] +
                                        __expf(maximum - new_maximum) * value);
            }
            maxima[head_rows + i * kRows + row] = new_maximum;
            sums[head_rows + i * kRows + row] = new_sum;
            __syncthreads();
        }
        __syncthreads();
    }
}

// A block per 32 queries, which keeps their results in registers while it walks over the keys.
__global__ void __launch_bounds__(kRows * kKeys, 1)
    block_per_tile(const float* q, const float* k, const float* v, float* __restrict__ out, int length, float scale) {
    constexpr int kThreads = kRows * kKeys, kEach = kDim / kKeys;
    __shared__ float q_tile[kRows * kDim], k_tile[kKeys * kDim], v_tile[kKeys * kDim], scores[kRows * kKeys];
    __shared__ float row_maxima[kRows], row_sums[kRows];
    const int row = threadIdx.x / kKeys, column = threadIdx.x % kKeys, tile = blockIdx.y;
    const int head = blockIdx.x * length * kDim;
    float results[kEach];
    for (int e = 0; e < kEach; ++e) results[e] = 0.0f;
    if (column == 0) {
        row_maxima[row] = -INFINITY;
        row_sums[row] = 0.0f;
    }
    copy_rows<kThreads, kRows>(q + head, q_tile, tile * kRows, length);
    __syncthreads();
    for (int j = 0; j <= tile; ++j) {
        copy_rows<kThreads, kKeys>(k + head, k_tile, j * kKeys, length);
        copy_rows<kThreads, kKeys>(v + head, v_tile, j * kKeys, length);
        __syncthreads();
        float score = 0.0f;
        for (int x = 0; x < kDim; ++x) score += q_tile[row * kDim + x] * k_tile[column * kDim + x];
        score *= scale;
        if (j * kKeys + column > tile * kRows + row) score = -INFINITY;
        scores[row * kKeys + column] = score;
        __syncthreads();
        float maximum, sum;
        softmax_row(scores, row, column, maximum, sum);
        const float old_maximum = row_maxima[row], old_sum = row_sums[row];
        const float new_maximum = fmaxf(old_maximum, maximum);
        const float new_sum = __expf(old_maximum - new_maximum) * old_sum + __expf(maximum - new_maximum) * sum;
        for (int e = 0; e < kEach; ++e) {
            const int x = column + e * kKeys;
            float value = 0.0f;
            for (int y = 0; y < kKeys; ++y) value += scores[row * kKeys + y] * v_tile[y * kDim + x];
            results[e] = (1.0f / new_sum) * (old_sum * __expf(old_maximum - new_maximum) * results[e] +
                                             __expf(maximum - new_maximum) * value);
        }
        if (column == 0) {
            row_maxima[row] = new_maximum;
            row_sums[row] = new_sum;
        }
        __syncthreads();
    }
    if (tile * kRows + row < length)
        for (int e = 0; e < kEach; ++e) out[head + (tile * kRows + row) * kDim + column + e * kKeys] = results[e];
}

constexpr int kM = 4, kN = 4;                                  // scores per thread
constexpr int kFew = kRows * kKeys / (kM * kN);                // threads of a block: 64
constexpr int kAcross = kKeys / kN;                            // threads along a row

struct Softmax {
    float maxima[kM], sums[kM], tile_maxima[kM], tile_sums[kM], new_maxima[kM], new_sums[kM];

    __device__ Softmax() {
        for (int i = 0; i < kM; ++i) {
            sums[i] = tile_sums[i] = 0.0f;
            maxima[i] = tile_maxima[i] = -INFINITY;
        }
    }

    // Scores in shared memory, `kPitch` apart: masked, then their exponentials.
    template <int kPitch>
    __device__ void tile(float (&products)[kM][kN], float* scores, int row, int column, int first_row, int first_key, float scale) {
        for (int i = 0; i < kM; ++i)
            for (int j = 0; j < kN; ++j)
                scores[(row + i) * kPitch + column + j] = first_key + column + j > first_row + row + i ? -INFINITY : products[i][j] * scale;
        __syncthreads();
        for (int i = 0; i < kM; ++i) {
            float maximum = -INFINITY;
            for (int x = 0; x < kKeys; ++x) maximum = fmaxf(maximum, scores[(row + i) * kPitch + x]);
            tile_maxima[i] = maximum;
        }
        for (int i = 0; i < kM; ++i)
            for (int j = 0; j < kN; ++j) {
                const float e = __expf(scores[(row + i) * kPitch + column + j] - tile_maxima[i]);
                scores[(row + i) * kPitch + column + j] = e;
            }
        __syncthreads();
        for (int i = 0; i < kM; ++i) {
            float sum = 0.0f;
            for (int x = 0; x < kKeys; ++x) sum += scores[(row + i) * kPitch + x];
            tile_sums[i] = sum;
        }
        for (int i = 0; i < kM; ++i) {
            new_maxima[i] = fmaxf(maxima[i], tile_maxima[i]);
            new_sums[i] = __expf(maxima[i] - new_maxima[i]) * sums[i] + __expf(tile_maxima[i] - new_maxima[i]) * tile_sums[i];
        }
    }
    __device__ float merged(int i, float result, float value) const {
        return (1.0f / new_sums[i]) * (sums[i] * __expf(maxima[i] - new_maxima[i]) * result +
                                       __expf(tile_maxima[i] - new_maxima[i]) * value);
    }
    __device__ void advance() {
        for (int i = 0; i < kM; ++i) {
            maxima[i] = new_maxima[i];
            sums[i] = new_sums[i];
        }
    }
};

// 4 x 4 scores and 4 x 8 results per thread of a block of 64. kPad: an element more per row of keys and of scores.
template <int kPad>
__global__ void registers(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                          float* __restrict__ out, int length, float scale) {
    constexpr int kWide = 8, kPitch = kDim + kPad, kScores = kKeys + kPad;
    __shared__ float q_tile[kRows * kDim], k_tile[kKeys * kPitch], v_tile[kKeys * kDim], scores[kRows * kScores];
    const int row = threadIdx.x / kAcross * kM, column = threadIdx.x % kAcross * kN, wide = threadIdx.x % (kDim / kWide) * kWide;
    const int element = threadIdx.x % kDim, tile = blockIdx.y, head = blockIdx.x * length * kDim;
    Softmax softmax;
    float of_q[kM], of_k[kN], of_v[kWide], results[kM * kWide];
    for (int i = 0; i < kM * kWide; ++i) results[i] = 0.0f;
    for (int y = 0; y < kRows; ++y) q_tile[y * kDim + element] = q[head + tile * kRows * kDim + y * kDim + element];
    __syncthreads();
    for (int j = 0; j <= tile; ++j) {
        float products[kM][kN] = {};
        for (int y = 0; y < kKeys; ++y) k_tile[y * kPitch + element] = k[head + (y + j * kKeys) * kDim + element];
        __syncthreads();
        for (int x = 0; x < kDim; ++x) {
            for (int i = 0; i < kM; ++i) of_q[i] = q_tile[(row + i) * kDim + x];
            for (int n = 0; n < kN; ++n) of_k[n] = k_tile[(column + n) * kPitch + x];
            for (int i = 0; i < kM; ++i)
                for (int n = 0; n < kN; ++n) products[i][n] += of_q[i] * of_k[n];
        }
        softmax.tile<kScores>(products, scores, row, column, tile * kRows, j * kKeys, scale);
        for (int y = 0; y < kKeys; ++y) v_tile[y * kDim + element] = v[head + (y + j * kKeys) * kDim + element];
        __syncthreads();
        float values[kM][kWide] = {};
        for (int x = 0; x < kKeys; ++x) {
            for (int i = 0; i < kM; ++i) of_q[i] = scores[(row + i) * kScores + x];
            for (int n = 0; n < kWide; ++n) of_v[n] = v_tile[x * kDim + wide + n];
            for (int i = 0; i < kM; ++i)
                for (int n = 0; n < kWide; ++n) values[i][n] += of_q[i] * of_v[n];
        }
        __syncthreads();
        for (int i = 0; i < kM; ++i)
            for (int n = 0; n < kWide; ++n) results[i * kWide + n] = softmax.merged(i, results[i * kWide + n], values[i][n]);
        softmax.advance();
        __syncthreads();
    }
    for (int i = 0; i < kM; ++i)
        for (int n = 0; n < kWide; ++n) out[head + (tile * kRows + row + i) * kDim + wide + n] = results[i * kWide + n];
}

// Four elements at a time into shared memory, where rows are `pitch` apart.
template <int kHeight, int kWidth>
__device__ void copy4(const float* from, float* to, int pitch) {
    for (int offset = 0; offset < kHeight * kWidth; offset += kFew * 4) {
        const int i = offset + threadIdx.x * 4, row = i / kWidth, column = i % kWidth;
        const float4 four = *reinterpret_cast<const float4*>(&from[row * kDim + column]);
        float* place = &to[row * pitch + column];
        place[0] = four.x;
        place[1] = four.y;
        place[2] = four.z;
        place[3] = four.w;
    }
}

// Keys and values pass through shared memory in two halves of their elements, so that another block fits.
__global__ void halves(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                       float* __restrict__ out, int length, int dim, float scale) {
    constexpr int kPart = 32, kParts = 2;
    __shared__ float q_tile[kRows][kDim], k_tile[kKeys][kPart + 1], v_tile[kKeys][kPart], scores[kRows][kKeys + 1];
    const int row = threadIdx.x / kAcross * kM, column = threadIdx.x % kAcross * kN, tile = blockIdx.y;
    const int head = blockIdx.x * length * dim;
    Softmax softmax;
    float of_q[kM], of_k[kN], of_v[kN], results[kParts * kM * kN] = {};
    copy4<kRows, kDim>(q + head + tile * kRows * dim, &q_tile[0][0], kDim);
    __syncthreads();
    for (int j = 0; j <= tile; ++j) {
        float products[kM][kN] = {};
        for (int part = 0; part < kParts; ++part) {
            copy4<kKeys, kPart>(k + head + j * kKeys * dim + part * kPart, &k_tile[0][0], kPart + 1);
            __syncthreads();
            for (int x = 0; x < kPart; ++x) {
                for (int i = 0; i < kM; ++i) of_q[i] = q_tile[row + i][x + part * kPart];
                for (int n = 0; n < kN; ++n) of_k[n] = k_tile[column + n][x];
                for (int i = 0; i < kM; ++i)
                    for (int n = 0; n < kN; ++n) products[i][n] += of_q[i] * of_k[n];
            }
            __syncthreads();
        }
        softmax.tile<kKeys + 1>(products, &scores[0][0], row, column, tile * kRows, j * kKeys, scale);
        for (int part = 0; part < kParts; ++part) {
            copy4<kKeys, kPart>(v + head + j * kKeys * dim + part * kPart, &v_tile[0][0], kPart);
            __syncthreads();
            float values[kM][kN] = {};
            for (int x = 0; x < kKeys; ++x) {
                for (int i = 0; i < kM; ++i) of_q[i] = scores[row + i][x];
                for (int n = 0; n < kN; ++n) of_v[n] = v_tile[x][column + n];
                for (int i = 0; i < kM; ++i)
                    for (int n = 0; n < kN; ++n) values[i][n] += of_q[i] * of_v[n];
            }
            __syncthreads();
            for (int i = 0; i < kM; ++i)
                for (int n = 0; n < kN; ++n) {
                    float& result = results[part * kM * kN + i * kN + n];
                    result = softmax.merged(i, result, values[i][n]);
                }
        }
        softmax.advance();
        __syncthreads();
    }
    for (int part = 0; part < kParts; ++part)
        for (int i = 0; i < kM; ++i)
            for (int n = 0; n < kN; ++n)
                out[head + (tile * kRows + row + i) * dim + part * kPart + column + n] = results[part * kM * kN + i * kN + n];
}

int main(int argc, char** argv) {
    chain::Run run(argc, argv, {4096, 12, 8}, {96, 2, 1});
    const int length = static_cast<int>(run.size(0)), heads = static_cast<int>(run.size(1)), batch = static_cast<int>(run.size(2));
    const size_t rows = size_t(batch) * heads * length, count = rows * kDim;
    chain::Array<float> q(count), k(count), v(count), out(count), sums(rows), maxima(rows);
    const float scale = 1.0f / std::sqrt(float(kDim));
    std::vector<double> expected(run.verify ? count : 0);
    if (run.verify) {
        q.fill([](size_t i) { return 2.0f * chain::pattern(i, 1); });
        k.fill([](size_t i) { return chain::pattern(i, 2); });
        v.fill([](size_t i) { return chain::pattern(i, 3); });
        for (size_t row = 0; row < rows; ++row) {
            const size_t first = row / length * length;
            double sum = 0.0;
            for (size_t key = first; key <= row; ++key) {
                double score = 0.0;
                for (int x = 0; x < kDim; ++x) score += double(q.host[row * kDim + x]) * k.host[key * kDim + x];
                const double weight = std::exp(score * scale);
                sum += weight;
                for (int x = 0; x < kDim; ++x) expected[row * kDim + x] += weight * v.host[key * kDim + x];
            }
            for (int x = 0; x < kDim; ++x) expected[row * kDim + x] /= sum;
        }
        maxima.host.assign(rows, -INFINITY);
    }
    auto prepare = [&] {
        if (!run.verify) return;
        chain::poison(out);
    };
    auto prepare_sums = [&] {   // what the first two add to
        if (!run.verify) return;
        CHECK(cudaMemset(out.data, 0, count * sizeof(float)));
        CHECK(cudaMemset(sums.data, 0, rows * sizeof(float)));
        maxima.upload();
    };
    auto check = [&] { return chain::close(out, expected, 1e-3); };
    const int bytes = (3 * kRows * kDim + kRows * kKeys) * int(sizeof(float));
    const dim3 by_tiles(batch * heads, length / kRows);
    run.variant("row_per_thread", [&] {
        row_per_thread<<<dim3(batch, heads), kRows, bytes>>>(q, k, v, out, sums, maxima, heads, length, kDim, scale);
    }, check, prepare_sums);
    run.variant("score_per_thread", [&] {
        score_per_thread<<<batch * heads, kRows * kKeys>>>(q, k, v, out, sums, maxima, length, scale);
    }, check, prepare_sums);
    run.variant("block_per_tile", [&] { block_per_tile<<<by_tiles, kRows * kKeys>>>(q, k, v, out, length, scale); }, check, prepare);
    run.variant("registers", [&] { registers<0><<<by_tiles, kFew>>>(q, k, v, out, length, scale); }, check, prepare);
    run.variant("registers_padded", [&] { registers<1><<<by_tiles, kFew>>>(q, k, v, out, length, scale); }, check, prepare);
    run.variant("halves", [&] { halves<<<by_tiles, kFew>>>(q, k, v, out, length, kDim, scale); }, check, prepare);
    return run.finish();
}
