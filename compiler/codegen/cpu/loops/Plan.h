// How a kernel's nodes are arranged into loops, and where its tensors live.
#ifndef NX_CODEGEN_LOOPS_PLAN_H
#define NX_CODEGEN_LOOPS_PLAN_H

#include "compiler/codegen/cpu/loops/Model.h"

namespace nx::loops {

// Nodes that share one loop nest: the parallel loops, inside of them the reduced ones. What a node
// produces at a point is a register for the nodes after it at the same point.
struct Group {
  llvm::SmallVector<int> nodes;
  llvm::SmallVector<int> parallel; // classes, outermost first; the lane class last
  llvm::SmallVector<int> reduced;
  int lane = -1; // the class whose loop steps by vectors; -1: none

  bool lanesReduced() const { return lane >= 0 && llvm::is_contained(reduced, lane); }
};

// How the lanes of vectors are laid over the iteration space.
enum class LaneMode {
  Row,    // each group has its own lane class, or none; a tile is one point of the outer loops
  Column, // one lane class for all; the groups' loops are inside of it; a tile is a chunk of it
  Turn    // two lane classes: tensors are read along one and written along the other
};

// Nodes that depend on each other, with a tile space of their own. A kernel is several parts one
// after the other: the pieces of a concatenation, for one.
struct Part {
  llvm::SmallVector<int> nodes;
  LaneMode mode = LaneMode::Row;
  int lanes = 1;     // elements of a vector; 1: scalar code
  int lane = -1;     // the lane class of Column and Turn
  int turned = -1;   // Turn: the class that unit stride runs along when reading
  int64_t chunk = 0; // Column: lane elements of a tile; Turn: `turned` elements of a tile
  llvm::SmallVector<int> outer; // classes of the tile space, outermost first
  std::vector<Group> groups;
  mlir::AffineExpr tiles;
  mlir::AffineExpr tileCost; // bytes of traffic, or work of the same weight
  mlir::AffineExpr scratchBytes;
};

struct Storage {
  enum Kind { None, Operand, Scratch, Constant } kind = None;
  int operand = -1;
  mlir::AffineExpr offset; // bytes into the scratch
  llvm::SmallVector<mlir::AffineExpr> strides;
  // Column mode's scratch holds the current vectors only: the lane class counts from 0.
  bool local = false;
};

struct Plan {
  std::vector<Part> parts;
  std::vector<Storage> storage; // per buffer
};

// `vectorLength`: f32 lanes of a register; 1 plans scalar code.
Plan makePlan(Model &model, int vectorLength);

// The stride of an access along a class, in elements: null when it is not constant along it.
mlir::AffineExpr strideAlong(const Access &access, llvm::ArrayRef<mlir::AffineExpr> strides,
                             int cls, mlir::MLIRContext *context);

// How many vectors at a time the loop over the lane class works on.
int unrollOf(const Model &model, const Part &part, llvm::ArrayRef<int> nodes);

} // namespace nx::loops

#endif // NX_CODEGEN_LOOPS_PLAN_H
