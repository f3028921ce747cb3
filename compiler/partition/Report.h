//===- Report.h - From a solution to the plan that people read ------------===//
#ifndef NX_COMPILER_PARTITION_REPORT_H
#define NX_COMPILER_PARTITION_REPORT_H

#include "compiler/partition/Planner.h"

namespace nx {
/// Adds what was decided for one function, and why, to `plan`.
void reportPlan(const SearchSpace &space, const Solution &solution, const Pins &pins, const Costs &costs,
                PartitionPlan &plan);
} // namespace nx
#endif // NX_COMPILER_PARTITION_REPORT_H
