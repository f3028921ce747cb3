// Passes over nxe programs.
#ifndef NXE_PASSES
#define NXE_PASSES
include "mlir/Pass/PassBase.td"

def NxePlanMemory : Pass<"nxe-plan-memory", "::nxe::ProgramOp"> {
  let summary = "Lifetimes of temporaries, and their places in the arena when sizes are static";
  let description = [{
    A temporary lives from the first to the last command that touches it or a view of it. When every size
    of the program is a constant the arena is laid out here: largest buffer first, each at the lowest
    offset where it meets no buffer that lives at the same time. With symbolic sizes the runtime does the
    same once per distinct set of sizes. Temporaries that no command touches are removed.

    Before:
    ```mlir
    %a = nxe.temp bytes #nx.dims<256>
    %b = nxe.temp bytes #nx.dims<64>
    nxe.dispatch @k0(%x, %a) dims #nx.dims<>
    nxe.dispatch @k1(%a, %b) dims #nx.dims<>
    nxe.dispatch @k2(%b, %y) dims #nx.dims<>
    ```
    After:
    ```mlir
    %a = nxe.temp bytes #nx.dims<256> first 0 last 1 offset 0
    %b = nxe.temp bytes #nx.dims<64> first 1 last 2 offset 256
    ```
  }];
}
#endif
