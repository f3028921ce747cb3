//===- Report.h - What a compilation cost ---------------------------------===//
#ifndef NX_COMPILER_DRIVER_REPORT_H
#define NX_COMPILER_DRIVER_REPORT_H

#include "compiler/driver/Compiler.h"
#include "llvm/Support/raw_ostream.h"

namespace nx {
/// Time, memory and size per phase, the slowest kernels, the file: for people, or as JSON.
void printReport(const CompileReport &report, llvm::raw_ostream &os);
void printReportJson(const CompileReport &report, llvm::raw_ostream &os);
/// "12.3 MB": bytes for people.
std::string bytesText(uint64_t bytes);
} // namespace nx
#endif // NX_COMPILER_DRIVER_REPORT_H
