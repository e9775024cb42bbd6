// Inline assembly with floats as people write them, 1.0 or -.5 or 2e3, which PTX takes for doubles and rounds to the
// instruction's type.
#include "../check.h"

__global__ void literals(float x, float* f, double* d, unsigned* u) {
    asm("add.f32 %0, %1, 1.5e1;" : "=f"(f[0]) : "f"(x));
    asm("fma.rn.f32 %0, %1, 0.1, -.5;" : "=f"(f[1]) : "f"(x));
    asm("mov.f32 %0, 1e39;" : "=f"(f[2]));
    asm("{\n.reg .f32 t;\nmov.f32 t, 3.;\nmul.f32 %0, t, -2E0;\n}" : "=f"(f[3]));
    asm("add.f64 %0, %1, 0.1;" : "=d"(d[0]) : "d"(double(x)));
    asm("mov.f64 %0, 1.25e-3;" : "=d"(d[1]));
    asm("set.gt.u32.f32 %0, %1, 1.0;" : "=r"(u[0]) : "f"(x));
    asm("{\n.reg .pred p;\nsetp.lt.f32 p, %1, 2.5;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(u[1]) : "f"(x));
}

int main() {
    Buffer<float> f(4);
    Buffer<double> d(2);
    Buffer<unsigned> u(2);
    const float x = 2.0f;
    literals<<<1, 1>>>(x, f.data, d.data, u.data);
    synchronise();
    const float floats[] = {17.0f, fmaf(x, 0.1f, -0.5f), INFINITY, -6.0f};
    const double doubles[] = {2.1, 1.25e-3};
    const unsigned words[] = {0xffffffffu, 1u};
    for (int i = 0; i < 4; i++) expect_equal("float", i, floats[i], f.host()[i]);
    for (int i = 0; i < 2; i++) expect_equal("double", i, doubles[i], d.host()[i]);
    for (int i = 0; i < 2; i++) expect_equal("word", i, words[i], u.host()[i]);
    return passed();
}
