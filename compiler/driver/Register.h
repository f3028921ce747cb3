//===- Register.h - Every dialect and pass of the compiler ----------------===//
#ifndef NX_COMPILER_DRIVER_REGISTER_H
#define NX_COMPILER_DRIVER_REGISTER_H

namespace mlir {
class DialectRegistry;
}

namespace nx {
/// The dialects (and their extensions) that a compilation uses.
void registerDialects(mlir::DialectRegistry &registry);
/// The same, and all passes by name for tools.
void registerAll(mlir::DialectRegistry &registry);
} // namespace nx
#endif // NX_COMPILER_DRIVER_REGISTER_H
