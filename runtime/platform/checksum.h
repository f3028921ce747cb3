// XXH3-64, the checksum of executables.
#ifndef NXRT_PLATFORM_CHECKSUM_H
#define NXRT_PLATFORM_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace nxrt {

uint64_t checksum(const void *bytes, size_t size);

} // namespace nxrt

#endif // NXRT_PLATFORM_CHECKSUM_H
