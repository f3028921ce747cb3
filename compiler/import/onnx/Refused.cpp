//===- Refused.cpp - ONNX operators that nx refuses, and why --------------===//

#include "compiler/import/onnx/NodeImporter.h"

using namespace nx::onnx;

static constexpr llvm::StringLiteral
    kDataSizes = "the size of its result depends on the data, not only on the sizes of the model's inputs",
    kControlFlow = "nx compiles control flow only where the condition is constant",
    kSequences = "nx has tensors only, no sequences", kStrings = "nx does not have strings",
    kRandom = "nx does not have random numbers", kRecurrent = "nx does not have recurrent operators";

static const OperatorRow kOperators[] = {
    {"Bernoulli", 1, kLatest, nullptr, kRandom},
    {"Compress", 1, kLatest, nullptr, kDataSizes},
    {"ConcatFromSequence", 1, kLatest, nullptr, kSequences},
    {"GRU", 1, kLatest, nullptr, kRecurrent},
    {"If", 1, kLatest, nullptr, kControlFlow},
    {"LSTM", 1, kLatest, nullptr, kRecurrent},
    {"Loop", 1, kLatest, nullptr, kControlFlow},
    {"Multinomial", 1, kLatest, nullptr, kRandom},
    {"NonMaxSuppression", 1, kLatest, nullptr, kDataSizes},
    {"NonZero", 1, kLatest, nullptr, kDataSizes},
    {"RNN", 1, kLatest, nullptr, kRecurrent},
    {"RandomNormal", 1, kLatest, nullptr, kRandom},
    {"RandomNormalLike", 1, kLatest, nullptr, kRandom},
    {"RandomUniform", 1, kLatest, nullptr, kRandom},
    {"RandomUniformLike", 1, kLatest, nullptr, kRandom},
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
