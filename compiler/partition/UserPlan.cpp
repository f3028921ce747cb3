//===- UserPlan.cpp - The user's choices for parameters -------------------===//

#include "compiler/partition/UserPlan.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"
#include <numeric>

using namespace mlir;
using namespace nx;

static FailureOr<PlanRule> parseRule(StringRef pattern, StringRef split, std::string where, Location loc) {
  PlanRule rule{pattern.trim().str(), PlanRule::Kind::Replicate, 0, std::move(where)};
  split = split.trim();
  std::string problem;
  if (rule.pattern.empty() || !llvm::Regex(rule.pattern).isValid(problem))
    return emitError(loc) << rule.where << ": '" << rule.pattern << "' is not a regular expression"
                          << (problem.empty() ? "" : ": ") << problem;
  if (split == "column")
    rule.kind = PlanRule::Kind::Column;
  else if (split == "row")
    rule.kind = PlanRule::Kind::Row;
  else if (split == "replicate" || split == "replicated")
    rule.kind = PlanRule::Kind::Replicate;
  else if (split == "split")
    rule.kind = PlanRule::Kind::Split;
  else if (split.consume_front("dim") && !split.trim().getAsInteger(10, rule.dim) && rule.dim >= 0)
    rule.kind = PlanRule::Kind::Dim;
  else
    return emitError(loc) << rule.where << ": expected 'column', 'row', 'split', 'replicate' or 'dim K' for '"
                          << rule.pattern << "', got '" << split << "'";
  return rule;
}

FailureOr<SmallVector<PlanRule>> nx::parsePlan(StringRef text, StringRef name, Location loc) {
  SmallVector<PlanRule> rules;
  if (text.ltrim().starts_with("{")) {
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
    if (!json)
      return emitError(loc) << name << ": " << llvm::toString(json.takeError());
    for (auto &[key, value] : *json->getAsObject()) {
      std::optional<StringRef> split = value.getAsString();
      if (!split)
        return emitError(loc) << name << ": the split of '" << key.str() << "' is not a string";
      auto rule = parseRule(key, *split, name.str() + ": rule '" + key.str() + "'", loc);
      if (failed(rule))
        return failure();
      rules.push_back(*rule);
    }
    // JSON objects have no order of their own.
    llvm::sort(rules, [](const PlanRule &a, const PlanRule &b) { return a.pattern < b.pattern; });
    return rules;
  }
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (auto [i, line] : llvm::enumerate(lines)) {
    line = line.split('#').first.trim();
    if (line.empty())
      continue;
    std::string where = name.str() + ":" + std::to_string(i + 1);
    // Patterns may hold colons, splits do not.
    auto [pattern, split] = line.rsplit(':');
    if (pattern.size() == line.size())
      return emitError(loc) << where << ": expected 'pattern: split', got '" << line << "'";
    auto rule = parseRule(pattern, split, where, loc);
    if (failed(rule))
      return failure();
    rules.push_back(*rule);
  }
  return rules;
}

std::string nx::legalDegrees(int64_t size) {
  std::string text;
  for (int64_t d = 1; d <= std::min<int64_t>(size, 64); ++d)
    if (size % d == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(d);
  return text;
}

/// The role of dimension `dim` of operand `index` of a contraction or lookup.
static WeightRole roleIn(const OpNode &node, unsigned index, int64_t dim) {
  const FactoredDim &factored = node.rule.operands[index][dim];
  auto occursIn = [&](const FactoredDim &other) {
    return llvm::any_of(other.factors, [&](unsigned f) { return llvm::is_contained(factored.factors, f); });
  };
  if (auto gather = dyn_cast<GatherOp>(node.op)) {
    if (index != 0)
      return WeightRole::None;
    return dim == int64_t(gather.getAxis()) ? WeightRole::Row : WeightRole::Column;
  }
  if (isa<MatmulOp>(node.op)) {
    const auto &result = node.rule.results[0];
    if (occursIn(index == 0 ? result[result.size() - 2] : result.back()))
      return WeightRole::Column;
    return occursIn(node.rule.operands[1 - index][node.rule.operands[1 - index].size() - 1]) ||
                   occursIn(node.rule.operands[1 - index][node.rule.operands[1 - index].size() - 2])
               ? WeightRole::Row
               : WeightRole::None;
  }
  if (isa<ConvOp>(node.op) && index == 1)
    return dim == 0 ? WeightRole::Column : dim == 1 ? WeightRole::Row : WeightRole::None;
  return WeightRole::None;
}

WeightRole nx::weightRole(const SearchSpace &space, unsigned value, int64_t dim) {
  // Follow the dimension through operations on weights alone: few, and nearest first.
  SmallVector<std::pair<unsigned, int64_t>> queue{{value, dim}};
  for (size_t head = 0; head < queue.size() && queue.size() < 64; ++head) {
    auto [v, d] = queue[head];
    for (Operation *user : space.values[v].value.getUsers()) {
      auto found = space.opOf.find(user);
      if (found == space.opOf.end())
        continue;
      const OpNode *it = &space.ops[found->second];
      for (unsigned i = 0; i < it->rule.operands.size(); ++i) {
        if (it->operands[i] != v)
          continue;
        if (WeightRole role = roleIn(*it, i, d); role != WeightRole::None)
          return role;
        if (isa<MatmulOp, ConvOp, GatherOp, AttentionOp>(user) || it->operands.size() != 1)
          continue;
        for (auto [k, to] : llvm::enumerate(it->rule.results[0]))
          if (llvm::any_of(to.factors, [&](unsigned f) {
                return llvm::is_contained(it->rule.operands[i][d].factors, f);
              }))
            queue.push_back({it->results[0], int64_t(k)});
      }
    }
  }
  return WeightRole::None;
}

FailureOr<Pins> nx::resolvePlan(ArrayRef<PlanRule> rules, const SearchSpace &space,
                                SmallVectorImpl<bool> &used) {
  Pins pins;
  std::vector<llvm::Regex> patterns;
  for (const PlanRule &rule : rules)
    patterns.emplace_back("^(" + rule.pattern + ")$");
  for (auto [index, node] : llvm::enumerate(space.values)) {
    auto param = dyn_cast_or_null<ParamOp>(node.source);
    if (!param)
      continue;
    const PlanRule *rule = nullptr;
    for (auto [i, pattern] : llvm::enumerate(patterns))
      if (pattern.match(param.getName())) {
        used[i] = true;
        if (!rule)
          rule = &rules[i];
      }
    if (!rule)
      continue;

    ArrayRef<int64_t> shape = node.type().getShape();
    int64_t rank = shape.size(), dim = -1;
    auto error = [&] { return param.emitError() << rule->where << ": parameter '" << param.getName() << "' "; };
    switch (rule->kind) {
    case PlanRule::Kind::Replicate:
      break;
    case PlanRule::Kind::Split: {
      SmallVector<unsigned> &allowed = pins[index];
      for (auto [c, choice] : llvm::enumerate(node.choices))
        if (choice.isSplit())
          allowed.push_back(c);
      if (!allowed.empty())
        continue;
      auto diag = error() << "cannot be split into " << space.parts << " equal parts";
      for (int64_t d = 0; d < rank; ++d)
        diag << (d ? ", dimension " : "; legal degrees: dimension ") << d << " (" << shape[d] << "): " << legalDegrees(shape[d]);
      return diag << "; a dimension may also be needed whole by what uses it";
    }
    case PlanRule::Kind::Dim:
      dim = rule->dim;
      if (dim >= rank)
        return error() << "has no dimension " << dim << ", its rank is " << rank;
      break;
    case PlanRule::Kind::Column:
    case PlanRule::Kind::Row: {
      WeightRole role = rule->kind == PlanRule::Kind::Column ? WeightRole::Column : WeightRole::Row;
      bool hasRole = false;
      for (int64_t d = 0; d < rank; ++d) {
        WeightRole own = weightRole(space, index, d);
        hasRole |= own != WeightRole::None;
        if (own == role && dim < 0 && (shape[d] != 1 || d + 1 == rank))
          dim = d;
      }
      // A bias goes with its weight: split with the outputs, whole behind a sum over split inputs.
      if (!hasRole && rank == 1)
        dim = role == WeightRole::Column ? 0 : -1;
      else if (dim < 0)
        return error() << "is not the weight of a contraction that has " << (role == WeightRole::Column ? "column" : "row")
                       << "s; say 'dim K' or 'replicate'";
      break;
    }
    }
    SmallVector<unsigned> &allowed = pins[index];
    if (dim < 0) {
      allowed.push_back(0);
      continue;
    }
    if (shape[dim] % space.parts)
      return error() << "cannot be split on dimension " << dim << ": its " << shape[dim]
                     << " elements do not divide into " << space.parts
                     << " equal parts; legal degrees: " << legalDegrees(shape[dim]);
    for (auto [c, choice] : llvm::enumerate(node.choices))
      if (choice.isSplit() && choice.dim == dim)
        allowed.push_back(c);
    if (allowed.empty()) {
      auto diag = error() << "cannot be split on dimension " << dim << " of size " << shape[dim]
                          << ": its use needs all of it; legal degrees: 1";
      for (Operation *user : param->getUsers())
        diag.attachNote(user->getLoc()) << "used by '" << nodeName(user) << "' (" << user->getName() << ")";
      return diag;
    }
  }
  return pins;
}
