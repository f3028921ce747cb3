// Passes of the partitioner.
#ifndef NX_PARTITION_PASSES
#define NX_PARTITION_PASSES
include "mlir/Pass/PassBase.td"

class NxPlanningPass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::nx::NxDialect"];
  list<Option> planOptions = [
    Option<"degree", "degree", "int64_t", "1", "number of ranks">,
    Option<"planFile", "plan", "std::string", "\"\"", "file with the user's plan">,
    Option<"explain", "explain", "std::string", "\"\"", "print the plan to standard output: text or json">];
  list<ListOption> planLists = [
    ListOption<"sizes", "sizes", "std::string", "assumed sizes of symbols, as name=value">];
}

def NxPlan : NxPlanningPass<"nx-plan"> {
  let summary = "Choose a split for N ranks, without applying it";
  let description = [{
    Runs the planner on each function and, with `explain`, prints what it chose and why. Errors in the
    user's plan are reported as by `nx-partition`. The IR does not change.
  }];
  let options = planOptions # planLists;
}

def NxPartition : NxPlanningPass<"nx-partition"> {
  let summary = "Rewrite each function into what one of N ranks runs";
  let description = [{
    Before: nx operations for one rank. After: the same function for each rank of N, with the shapes of
    a rank's parts. Parameters take a `#nx.shard` step in their recipes, where a rank's part of them is
    cut out; collectives stand where values must be combined. Inputs and outputs are whole on every rank.

    ```mlir
    %w1 = nx.param "w1" source tensor<64x256xf32> : tensor<64x256xf32>
    %w2 = nx.param "w2" source tensor<256x64xf32> : tensor<256x64xf32>
    %h = nx.matmul %x, %w1 : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
    %g = nx.gelu %h : (tensor<8x256xf32>) -> tensor<8x256xf32>
    %y = nx.matmul %g, %w2 : (tensor<8x256xf32>, tensor<256x64xf32>) -> tensor<8x64xf32>
    ```
    becomes, with degree 2,
    ```mlir
    %w1 = nx.param "w1" source tensor<64x256xf32> recipe [#nx.shard<dim = 1, parts = 2>] : tensor<64x128xf32>
    %w2 = nx.param "w2" source tensor<256x64xf32> recipe [#nx.shard<dim = 0, parts = 2>] : tensor<128x64xf32>
    %h = nx.matmul %x, %w1 : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
    %g = nx.gelu %h : (tensor<8x128xf32>) -> tensor<8x128xf32>
    %p = nx.matmul %g, %w2 : (tensor<8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32>
    %y = nx.all_reduce %p {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32>
    ```
  }];
  let options = planOptions # planLists;
}

def NxSimplifyCollectives : Pass<"nx-simplify-collectives", "::mlir::ModuleOp"> {
  let summary = "Merge, move and remove collectives";
  let description = [{
    The patterns that `nx-partition` ends with: two all_reduces that are added become one, a part of an
    all_reduce becomes a reduce_scatter, a gather of parts of one value disappears, and so on.

    ```mlir
    %0 = nx.all_reduce %a {kind = #nx<reduce_kind sum>, parts = 2 : i64} : ...
    %1 = nx.all_reduce %b {kind = #nx<reduce_kind sum>, parts = 2 : i64} : ...
    %2 = nx.add %0, %1 : ...
    ```
    becomes
    ```mlir
    %0 = nx.add %a, %b : ...
    %2 = nx.all_reduce %0 {kind = #nx<reduce_kind sum>, parts = 2 : i64} : ...
    ```
  }];
  let dependentDialects = ["::nx::NxDialect"];
}

def NxPrintShardingRules : Pass<"nx-print-sharding-rules", "::mlir::ModuleOp"> {
  let summary = "Print the sharding rule of each operation, after checking it against the types";
  let description = [{
    One line for each operation that has a rule, for tests:

    ```
    nx.matmul: [a, c], [c, b] -> [a, b] where a = 8, b = 256, c = 64 sum; linear {0} {1}
    ```
  }];
}
#endif
