// From the shapes of an execution's inputs to the values of a program's symbols.
#ifndef NXRT_EXECUTOR_BINDING_H
#define NXRT_EXECUTOR_BINDING_H

#include "nxrt/nxrt.h"
#include "runtime/platform/status.h"
#include "runtime/schema/executable_generated.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nxrt {

/// How many inputs and outputs callers see: those of states come behind them.
uint32_t callerInputs(const nx::fb::Program &program);
uint32_t callerOutputs(const nx::fb::Program &program);

/// Values of the program's symbols for inputs of these shapes, in the order of the signature;
/// symbols that stand for the rank are 0. Refuses shapes that contradict the signature, each other,
/// the symbols' ranges or the program's checks.
Status bindSymbols(const nx::fb::Program &program, std::span<const nxrt_shape> inputs,
                   std::vector<int64_t> &symbols);

/// Shapes of the signatures (null: none) for values of all expressions.
Status
signatureShapes(const flatbuffers::Vector<flatbuffers::Offset<nx::fb::Signature>> *signatures,
                std::span<const int64_t> values, std::vector<nxrt_shape> &shapes);

/// The signature's shape in words: "[batch, seq, 768]".
std::string signatureText(const nx::fb::Program &program, const nx::fb::Signature &signature);

} // namespace nxrt

#endif // NXRT_EXECUTOR_BINDING_H
