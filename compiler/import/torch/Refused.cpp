//===- Refused.cpp - ATen operators that nx refuses, and why --------------===//

#include "compiler/import/torch/NodeImporter.h"

using namespace nx::torch;

static constexpr llvm::StringLiteral
    kDataSizes = "the size of its result depends on the data, not only on the sizes of the model's inputs",
    kControlFlow = "nx compiles control flow only where the condition is constant",
    kRandom = "nx does not have random numbers", kComplex = "nx does not have complex numbers",
    kAutocast = "nx does not compile autocast regions; convert the model to the wanted type before exporting it",
    kStorage = "it depends on how tensors lie in memory";

/// A refused operator with all its overloads.
static constexpr OperatorRow refused(llvm::StringRef name, llvm::StringRef reason) {
  return {name, "*", nullptr, nullptr, false, reason};
}

static const OperatorRow kOperators[] = {
    refused("aten.bernoulli", kRandom),
    refused("aten.complex", kComplex),
    refused("aten._fft_c2c", kComplex),
    refused("aten._fft_c2r", kComplex),
    refused("aten._fft_r2c", kComplex),
    refused("aten.fft_fft", kComplex),
    refused("aten.fft_ifft", kComplex),
    refused("aten.fft_irfft", kComplex),
    refused("aten.fft_rfft", kComplex),
    refused("aten.istft", kComplex),
    refused("aten.masked_select", kDataSizes),
    refused("aten.multinomial", kRandom),
    refused("aten.nonzero", kDataSizes),
    refused("aten.nonzero_numpy", kDataSizes),
    refused("aten.normal", kRandom),
    refused("aten.polar", kComplex),
    refused("aten.poisson", kRandom),
    refused("aten.rand", kRandom),
    refused("aten.rand_like", kRandom),
    refused("aten.randint", kRandom),
    refused("aten.randint_like", kRandom),
    refused("aten.randn", kRandom),
    refused("aten.randn_like", kRandom),
    refused("aten.randperm", kRandom),
    refused("aten.stft", kComplex),
    refused("aten.sym_storage_offset", kStorage),
    refused("aten.sym_stride", kStorage),
    refused("aten.uniform", kRandom),
    refused("aten._unique2", kDataSizes),
    refused("aten.unique_consecutive", kDataSizes),
    refused("aten.unique_dim", kDataSizes),
    refused("aten.view_as_complex", kComplex),
    refused("aten.view_as_real", kComplex),
    refused("higher_order.associative_scan", kControlFlow),
    refused("higher_order.cond", kControlFlow),
    refused("higher_order.map_impl", kControlFlow),
    refused("higher_order.scan", kControlFlow),
    refused("higher_order.while_loop", kControlFlow),
    refused("higher_order.wrap_with_autocast", kAutocast),
};

llvm::ArrayRef<OperatorRow> nx::torch::refusedOperators() { return kOperators; }
