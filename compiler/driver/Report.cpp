//===- Report.cpp - What a compilation cost -------------------------------===//

#include "compiler/driver/Report.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace nx;

std::string nx::bytesText(uint64_t bytes) {
  std::string text;
  raw_string_ostream os(text);
  if (bytes >= 1000000000)
    os << format("%.2f GB", bytes / 1e9);
  else if (bytes >= 1000000)
    os << format("%.1f MB", bytes / 1e6);
  else if (bytes >= 1000)
    os << format("%.1f kB", bytes / 1e3);
  else
    os << bytes << " B";
  return text;
}

void nx::printReport(const CompileReport &report, raw_ostream &os) {
  os << format("%-12s %10s %12s %12s\n", "phase", "time", "peak memory", "operations");
  for (const PhaseReport &phase : report.phases)
    os << format("%-12s %7.1f ms %12s %12llu\n", phaseName(phase.phase).str().c_str(),
                 phase.seconds * 1e3, bytesText(phase.peakBytes).c_str(),
                 (unsigned long long)phase.operations);
  os << format("%-12s %7.1f ms %12s\n\n", "all", report.seconds * 1e3,
               bytesText(report.peakBytes).c_str());
  if (!report.kernels.empty()) {
    std::vector<KernelCompileStats> slowest = report.kernels;
    llvm::sort(slowest, [](const KernelCompileStats &a, const KernelCompileStats &b) {
      return std::make_pair(-a.mlirSeconds - a.llvmSeconds, a.name) <
             std::make_pair(-b.mlirSeconds - b.llvmSeconds, b.name);
    });
    os << report.kernels.size() << " kernels; the slowest to compile:\n";
    for (const KernelCompileStats &kernel : ArrayRef(slowest).take_front(8))
      os << format("  %7.1f ms %10s  ", (kernel.mlirSeconds + kernel.llvmSeconds) * 1e3,
                   bytesText(kernel.objectBytes).c_str())
         << kernel.name << "\n";
    os << "\n";
  }
  if (report.emitted.fileBytes)
    os << "parameters " << bytesText(report.parameterBytes) << "; executable "
       << bytesText(report.emitted.fileBytes) << ": weights "
       << bytesText(report.emitted.weightBytes) << ", code " << bytesText(report.emitted.codeBytes)
       << ", tables " << bytesText(report.emitted.tableBytes) << "\n";
}

void nx::printReportJson(const CompileReport &report, raw_ostream &os) {
  json::OStream json(os, 2);
  json.object([&] {
    json.attribute("seconds", report.seconds);
    json.attribute("peak_bytes", int64_t(report.peakBytes));
    json.attribute("parameter_bytes", int64_t(report.parameterBytes));
    json.attributeArray("phases", [&] {
      for (const PhaseReport &phase : report.phases)
        json.object([&] {
          json.attribute("phase", phaseName(phase.phase));
          json.attribute("seconds", phase.seconds);
          json.attribute("peak_bytes", int64_t(phase.peakBytes));
          json.attribute("operations", int64_t(phase.operations));
        });
    });
    json.attributeArray("kernels", [&] {
      for (const KernelCompileStats &kernel : report.kernels)
        json.object([&] {
          json.attribute("name", kernel.name);
          json.attribute("mlir_seconds", kernel.mlirSeconds);
          json.attribute("llvm_seconds", kernel.llvmSeconds);
          json.attribute("object_bytes", int64_t(kernel.objectBytes));
        });
    });
    json.attributeObject("executable", [&] {
      json.attribute("file_bytes", int64_t(report.emitted.fileBytes));
      json.attribute("weight_bytes", int64_t(report.emitted.weightBytes));
      json.attribute("code_bytes", int64_t(report.emitted.codeBytes));
      json.attribute("table_bytes", int64_t(report.emitted.tableBytes));
    });
  });
  os << "\n";
}
