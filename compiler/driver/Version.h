//===- Version.h - The compiler's version ---------------------------------===//
#ifndef NX_COMPILER_DRIVER_VERSION_H
#define NX_COMPILER_DRIVER_VERSION_H

namespace nx {
/// The project's version, from CMake.
inline constexpr const char *kVersion = NX_VERSION;
} // namespace nx
#endif // NX_COMPILER_DRIVER_VERSION_H
