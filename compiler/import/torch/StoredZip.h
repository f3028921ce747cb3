//===- StoredZip.h - Zip files whose entries are stored as they are -------===//
//
// A .pt2 file is a zip archive without compression, so that its tensors can be used where they lie.
// This reads such an archive in place and nothing else: a compressed or encrypted entry, one that
// reaches outside the file or into another, and a name that is not a plain relative path are errors.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_TORCH_STOREDZIP_H
#define NX_COMPILER_IMPORT_TORCH_STOREDZIP_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace nx::torch {

class StoredZip {
public:
  struct Entry {
    llvm::StringRef name, bytes; ///< both lie in the archive
    uint32_t checksum = 0;       ///< CRC-32 of the bytes, as the archive says
  };

  /// Reads the directory of an archive that outlives the result. Zip64 included.
  static llvm::Expected<StoredZip> open(llvm::StringRef archive);

  /// True when the bytes begin as a zip archive does.
  static bool isZip(llvm::StringRef bytes) { return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06"); }

  const std::vector<Entry> &entries() const { return all; }
  const Entry *find(llvm::StringRef name) const;
  /// The bytes of an entry that must exist and whose checksum must be right.
  llvm::Expected<llvm::StringRef> read(llvm::StringRef name) const;

private:
  std::vector<Entry> all;
  llvm::DenseMap<llvm::StringRef, size_t> byName;
};

} // namespace nx::torch
#endif // NX_COMPILER_IMPORT_TORCH_STOREDZIP_H
