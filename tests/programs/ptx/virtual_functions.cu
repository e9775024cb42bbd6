// Virtual functions: objects made on the device, overriding, base calls, multiple inheritance, virtual
// destructors, and an expression tree walked by lanes with different shapes.
#include "../check.h"

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const { return 0; }
    __device__ float scaled(float s) const { return area() * s; }
};
struct Rectangle : Shape {
    float w, h;
    __device__ Rectangle(float w, float h) : w(w), h(h) {}
    __device__ float area() const override { return w * h; }
    __device__ int sides() const override { return 4; }
};
struct Square : Rectangle {
    __device__ explicit Square(float a) : Rectangle(a, a) {}
    __device__ int sides() const override { return Rectangle::sides() * 100; }
};
struct Disc : Shape {
    float r;
    __device__ explicit Disc(float r) : r(r) {}
    __device__ float area() const override { return 3.0f * r * r; }
};
struct Named { int id; __device__ virtual int name() const { return id; } };
struct Labelled : Disc, Named {
    __device__ Labelled(float r, int i) : Disc(r) { id = i; }
    __device__ int name() const override { return id * 2; }
    __device__ int sides() const override { return 1; }
};

__device__ int destroyed;
struct Counted : Shape {
    __device__ ~Counted() override { atomicAdd(&destroyed, 1); }
    __device__ float area() const override { return 0.5f; }
};

__global__ void make(Shape** shapes, Named** named, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    named[i] = nullptr;
    switch (i % 5) {
        case 0: shapes[i] = new Rectangle(float(i), 2); break;
        case 1: shapes[i] = new Square(float(i)); break;
        case 2: shapes[i] = new Disc(float(i)); break;
        case 3: { auto* l = new Labelled(float(i), i); shapes[i] = l; named[i] = l; break; }
        default: shapes[i] = new Counted; break;
    }
}

__global__ void measure(Shape* const* shapes, Named* const* named, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Shape* s = shapes[n - 1 - i];
    float v = s->scaled(2) + float(s->sides());
    if (named[n - 1 - i]) v += float(named[n - 1 - i]->name());
    out[i] = v;
}

__global__ void destroy(Shape** shapes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) delete shapes[i];
}

// Expression trees in local memory; the tree differs from lane to lane.
struct Expression { __device__ virtual int value(int x) const = 0; };
struct Variable : Expression { __device__ int value(int x) const override { return x; } };
struct Constant : Expression { int c; __device__ Constant(int c) : c(c) {} __device__ int value(int) const override { return c; } };
struct Sum : Expression {
    const Expression *a, *b;
    __device__ Sum(const Expression* a, const Expression* b) : a(a), b(b) {}
    __device__ int value(int x) const override { return a->value(x) + b->value(x); }
};
struct Product : Sum {
    using Sum::Sum;
    __device__ int value(int x) const override { return a->value(x) * b->value(x); }
};
__global__ void evaluate(int* out) {
    int t = threadIdx.x;
    Variable x;
    Constant c(t);
    Sum s(&x, &c);
    Product p(&s, t % 2 ? static_cast<const Expression*>(&x) : &c), q(&p, &s);
    Sum top(t % 3 == 0 ? static_cast<const Expression*>(&q) : &p, t % 5 ? static_cast<const Expression*>(&x) : &s);
    out[t] = top.value(t + 10);
}

int main() {
    const int n = 170;
    Buffer<Shape*> shapes(n);
    Buffer<Named*> named(n);
    Buffer<float> out(n);
    make<<<3, 60>>>(shapes, named, n);
    measure<<<2, 90>>>(shapes, named, out, n);
    auto got = out.host();
    for (int i = 0; i < n; i++) {
        int k = n - 1 - i;
        float f = float(k), e[5] = {f * 2 * 2 + 4, f * f * 2 + 400, 3 * f * f * 2, 3 * f * f * 2 + 1 + 2 * f, 1};
        expect_equal("measure", i, e[k % 5], got[i]);
    }
    destroy<<<3, 64>>>(shapes, n);
    int count = 0;
    CUDA_OK(cudaMemcpyFromSymbol(&count, destroyed, sizeof count));
    expect_equal("destroyed", 0, n / 5, count);

    Buffer<int> values(50);
    evaluate<<<1, 50>>>(values);
    auto v = values.host();
    for (int t = 0; t < 50; t++) {
        int x = t + 10, s = x + t, p = s * (t % 2 ? x : t), q = p * s;
        expect_equal("evaluate", t, (t % 3 == 0 ? q : p) + (t % 5 ? x : s), v[t]);
    }
    return passed();
}
