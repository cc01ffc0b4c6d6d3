// The module `bench` for bench.cpp. `ports.h` is generated: it says the ports of `top` (sim/rtl/bench_top.py).

#include "Vbench.h"
#include "bench.h"

struct Model : Simulated {
    VerilatedContext context;
    Vbench top{&context};

    void eval() override { top.eval(); }
};

std::unique_ptr<Simulated> simulate(Ports& ports) {
    std::unique_ptr<Model> model(new Model);
    Vbench& top = model->top;
#include "ports.h"
    return model;
}
