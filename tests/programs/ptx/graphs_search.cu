// Irregular work: breadth-first search, n-queens, Floyd-Warshall, union-find components, knapsack and edit distance.
#include <queue>

#include "../check.h"

__global__ void bfs_level(const int* start, const int* edges, int* depth, int level, int n, int* changed) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || depth[v] != level) return;
    for (int k = start[v]; k < start[v + 1]; k++) {
        if (atomicCAS(&depth[edges[k]], -1, level + 1) == -1) *changed = 1;
    }
}

// Each thread takes one placement of the first two rows and counts the rest with an explicit stack of masks.
__global__ void queens(int n, unsigned* count) {
    int first = threadIdx.x / n, second = threadIdx.x % n;
    if (threadIdx.x >= unsigned(n * n)) return;
    unsigned all = (1u << n) - 1, columns[12], left[12], right[12], open[12], found = 0;
    unsigned a = 1u << first, b = 1u << second;
    if (b & (a | a << 1 | a >> 1)) return;
    int row = 2;
    columns[2] = a | b, left[2] = (a << 2 | b << 1) & all, right[2] = a >> 2 | b >> 1;
    open[2] = all & ~(columns[2] | left[2] | right[2]);
    while (row >= 2) {
        if (!open[row]) { row--; continue; }
        unsigned bit = open[row] & (0u - open[row]);
        open[row] ^= bit;
        if (row == n - 1) { found++; continue; }
        columns[row + 1] = columns[row] | bit;
        left[row + 1] = ((left[row] | bit) << 1) & all;
        right[row + 1] = (right[row] | bit) >> 1;
        row++;
        open[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    atomicAdd(count, found);
}

__global__ void floyd(int* d, int n, int k) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) d[y * n + x] = min(d[y * n + x], d[y * n + k] + d[k * n + x]);
}

// Components by hooking and pointer jumping.
__global__ void hook(const int2* edges, int count, int* parent) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int a = edges[i].x, b = edges[i].y;
    while (true) {
        while (a != ((volatile int*)parent)[a]) a = ((volatile int*)parent)[a];
        while (b != ((volatile int*)parent)[b]) b = ((volatile int*)parent)[b];
        if (a == b) break;
        if (a < b) { int t = a; a = b; b = t; }
        if (atomicCAS(&parent[a], a, b) == a) break;
    }
}

// One item per launch; the block strides over capacities in two buffers.
__global__ void knapsack(const int* before, int* after, int capacity, int weight, int value) {
    for (int c = threadIdx.x; c <= capacity; c += blockDim.x) after[c] = c >= weight ? max(before[c], before[c - weight] + value) : before[c];
}

// Edit distance: anti-diagonals in shared memory, a barrier between them.
__global__ void edit_distance(const char* a, int n, const char* b, int m, int* result) {
    __shared__ int diagonal[3][130];
    for (int d = 0; d <= n + m; d++) {
        int* now = diagonal[d % 3];
        for (int i = threadIdx.x; i <= n; i += blockDim.x) {
            int j = d - i;
            if (j < 0 || j > m) continue;
            if (i == 0 || j == 0) now[i] = i + j;
            else now[i] = min(min(diagonal[(d + 2) % 3][i - 1], diagonal[(d + 2) % 3][i]) + 1, diagonal[(d + 1) % 3][i - 1] + (a[i - 1] != b[j - 1]));
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = diagonal[(n + m) % 3][n];
}

int main() {
    Random random(69);
    const int n = 300;
    std::vector<int> start(1, 0), edges;
    std::vector<int2> pairs;
    for (int v = 0; v < n; v++) {
        for (unsigned k = random.below(4); k > 0; k--) edges.push_back(int(random.below(n))), pairs.push_back(make_int2(v, edges.back()));
        start.push_back(int(edges.size()));
    }
    std::vector<int> depth(n, -1);
    depth[0] = 0;
    Buffer<int> ds(start), de(edges), dd(depth), changed(1);
    for (int level = 0, again = 1; again; level++) {
        changed.put({0});
        bfs_level<<<3, 100>>>(ds, de, dd, level, n, changed);
        again = changed.host()[0];
    }
    std::queue<int> queue;
    for (queue.push(0); !queue.empty(); queue.pop()) {
        int v = queue.front();
        for (int k = start[v]; k < start[v + 1]; k++) if (depth[edges[k]] < 0) depth[edges[k]] = depth[v] + 1, queue.push(edges[k]);
    }
    expect_all("bfs", depth, dd.host());

    const unsigned solutions[] = {4, 40, 92};  // 6, 7 and 8 queens
    for (int q = 6; q <= 8; q++) {
        Buffer<unsigned> count(1);
        queens<<<1, q * q>>>(q, count);
        expect_equal("queens", q, q == 6 ? solutions[0] : q == 7 ? solutions[1] : solutions[2], count.host()[0]);
    }

    const int size = 40;
    std::vector<int> distance(size * size, 1000000);
    for (int i = 0; i < 150; i++) distance[random.below(size * size)] = int(random.below(50)) + 1;
    for (int i = 0; i < size; i++) distance[i * size + i] = 0;
    Buffer<int> dist(distance);
    for (int k = 0; k < size; k++) {
        floyd<<<dim3(3, 5), dim3(16, 8)>>>(dist, size, k);
        for (int i = 0; i < size * size; i++) distance[i] = std::min(distance[i], distance[i / size * size + k] + distance[k * size + i % size]);
    }
    expect_all("floyd", distance, dist.host());

    std::vector<int> parent(n);
    for (int i = 0; i < n; i++) parent[i] = i;
    Buffer<int> dp(parent);
    Buffer<int2> dpairs(pairs);
    hook<<<(int(pairs.size()) + 63) / 64, 64>>>(dpairs, int(pairs.size()), dp);
    auto root = [](const std::vector<int>& p, int v) { while (p[v] != v) v = p[v]; return v; };
    for (int2 e : pairs) { int a = root(parent, e.x), b = root(parent, e.y); parent[std::max(a, b)] = std::min(a, b); }
    auto got = dp.host();
    for (int v = 0; v < n; v++) expect_equal("components", v, root(parent, v), root(got, v));

    const int capacity = 200;
    std::vector<int> best(capacity + 1), next(capacity + 1);
    Buffer<int> k0(capacity + 1), k1(capacity + 1);
    for (int item = 0; item < 12; item++) {
        int weight = 5 + int(random.below(40)), value = int(random.below(100));
        knapsack<<<1, 64>>>(item % 2 ? k1 : k0, item % 2 ? k0 : k1, capacity, weight, value);
        for (int c = 0; c <= capacity; c++) next[c] = c >= weight ? std::max(best[c], best[c - weight] + value) : best[c];
        best = next;
    }
    expect_all("knapsack", best, k0.host());

    std::vector<char> a(120), b(90);
    for (char& c : a) c = char('a' + random.below(4));
    for (char& c : b) c = char('a' + random.below(4));
    Buffer<char> da(a), db(b);
    edit_distance<<<1, 50>>>(da, 120, db, 90, changed);
    std::vector<std::vector<int>> table(121, std::vector<int>(91));
    for (int i = 0; i <= 120; i++) for (int j = 0; j <= 90; j++) {
        table[i][j] = !i || !j ? i + j : std::min(std::min(table[i - 1][j], table[i][j - 1]) + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
    }
    expect_equal("edit distance", 0, table[120][90], changed.host()[0]);
    return passed();
}
