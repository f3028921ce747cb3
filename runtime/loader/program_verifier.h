// Semantic verification of an executable's tables, after FlatBuffers' own check of the encoding.
// What follows it may rely on:
//
// - no table, and no string that names something, is null; names are unique in their table, but for
//   parameters' (a weight may be stored in two forms); enums hold known values;
// - every index points into its table; an expression refers to earlier ones, a view to an earlier
//   buffer;
// - tp_degree is 1..64, every parameter has one part for each rank, aligned to 64, inside a segment
//   that holds no code;
// - a dispatch has the operands and dims that its kernel states; a temporary buffer is live at
// every
//   command that touches it; temporaries with given places lie in the arena, aligned to 64, and two
//   of them that live at once do not overlap;
// - collectives have ranks below tp_degree, sizes that are equal on all ranks, and an element type
//   that their reduction is defined for;
// - inputs and parameters are not written by copies, fills and collectives;
// - shapes do not depend on the rank.
//
// Sizes that depend on symbols are checked when a plan is made for their values (executor/plan.h).
#ifndef NXRT_LOADER_PROGRAM_VERIFIER_H
#define NXRT_LOADER_PROGRAM_VERIFIER_H

#include "runtime/platform/status.h"
#include "runtime/schema/executable_generated.h"

namespace nxrt {

Status verifyExecutable(const nx::fb::Executable &executable);

} // namespace nxrt

#endif // NXRT_LOADER_PROGRAM_VERIFIER_H
