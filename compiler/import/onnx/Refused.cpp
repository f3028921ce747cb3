//===- Refused.cpp - ONNX operators that nx refuses, and why --------------===//

#include "compiler/import/onnx/NodeImporter.h"

using namespace nx::onnx;

static constexpr llvm::StringLiteral
    kDataSizes = "the size of its result depends on the data, not only on the sizes of the model's inputs",
    kControlFlow = "nx compiles control flow only where the condition is constant",
    kSequences = "nx has tensors only, no sequences", kOptionals = "nx has tensors only, no optional values",
    kStrings = "nx does not have strings",
    kImages = "nx does not decode image files: decode before the model";

static const OperatorRow kOperators[] = {
    {"ConcatFromSequence", 1, kLatest, nullptr, kSequences},
    {"ImageDecoder", 20, kLatest, nullptr, kImages},
    {"If", 1, kLatest, nullptr, kControlFlow},
    {"Loop", 1, kLatest, nullptr, kControlFlow},
    {"NonMaxSuppression", 1, kLatest, nullptr, kDataSizes},
    {"NonZero", 1, kLatest, nullptr, kDataSizes},
    {"Optional", 15, kLatest, nullptr, kOptionals},
    {"OptionalGetElement", 15, kLatest, nullptr, kOptionals},
    {"OptionalHasElement", 15, kLatest, nullptr, kOptionals},
    {"RegexFullMatch", 20, kLatest, nullptr, kStrings},
    {"Scan", 1, kLatest, nullptr, kControlFlow},
    {"SequenceAt", 1, kLatest, nullptr, kSequences},
    {"SequenceConstruct", 1, kLatest, nullptr, kSequences},
    {"SequenceEmpty", 1, kLatest, nullptr, kSequences},
    {"SequenceErase", 1, kLatest, nullptr, kSequences},
    {"SequenceInsert", 1, kLatest, nullptr, kSequences},
    {"SequenceLength", 1, kLatest, nullptr, kSequences},
    {"SequenceMap", 1, kLatest, nullptr, kSequences},
    {"SplitToSequence", 1, kLatest, nullptr, kSequences},
    {"StringConcat", 1, kLatest, nullptr, kStrings},
    {"StringNormalizer", 1, kLatest, nullptr, kStrings},
    {"StringSplit", 1, kLatest, nullptr, kStrings},
    {"TfIdfVectorizer", 1, kLatest, nullptr, kStrings},
    {"Unique", 1, kLatest, nullptr, kDataSizes},
};

llvm::ArrayRef<OperatorRow> nx::onnx::refusedOperators() { return kOperators; }
