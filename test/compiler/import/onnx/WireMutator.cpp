//===- WireMutator.cpp - Random changes to protobuf messages --------------===//

#include "test/compiler/import/onnx/WireMutator.h"
#include <optional>

namespace nx::test {

/// Graphs lie in attributes of nodes of graphs; deeper bytes are left as bytes.
static constexpr unsigned kMaxDepth = 24;

struct WireMutator::Field {
  uint32_t number;
  uint32_t type;       ///< 0 varint, 1 fixed64, 2 bytes, 5 fixed32
  uint64_t scalar = 0; ///< of the others than bytes
  std::string bytes;
  Message fields; ///< of bytes that read as a message
};

static std::optional<uint64_t> takeVarint(std::string_view &bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 10 && i < bytes.size(); ++i) {
    value |= uint64_t(bytes[i] & 0x7f) << (7 * i);
    if (!(bytes[i] & 0x80)) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

static void putVarint(uint64_t value, std::string &bytes) {
  for (; value >= 0x80; value >>= 7)
    bytes.push_back(char(value | 0x80));
  bytes.push_back(char(value));
}

bool WireMutator::read(std::string_view bytes, Message &message, unsigned depth) {
  while (!bytes.empty()) {
    std::optional<uint64_t> tag = takeVarint(bytes);
    // Small numbers only: most text does not read as a message then.
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 40)
      return false;
    Field field{uint32_t(*tag >> 3), uint32_t(*tag & 7)};
    if (field.type == 0) {
      std::optional<uint64_t> value = takeVarint(bytes);
      if (!value)
        return false;
      field.scalar = *value;
    } else if (field.type == 1 || field.type == 5) {
      size_t size = field.type == 1 ? 8 : 4;
      if (bytes.size() < size)
        return false;
      for (size_t i = 0; i < size; ++i)
        field.scalar |= uint64_t(uint8_t(bytes[i])) << (8 * i);
      bytes.remove_prefix(size);
    } else if (field.type == 2) {
      std::optional<uint64_t> size = takeVarint(bytes);
      if (!size || *size > bytes.size())
        return false;
      field.bytes = bytes.substr(0, *size);
      bytes.remove_prefix(*size);
      if (field.bytes.size() < 2 || depth >= kMaxDepth || !read(field.bytes, field.fields, depth + 1))
        field.fields.clear();
    } else {
      return false;
    }
    message.push_back(std::move(field));
  }
  return true;
}

void WireMutator::write(const Message &message, std::string &bytes) {
  for (const Field &field : message) {
    putVarint(uint64_t(field.number) << 3 | field.type, bytes);
    if (field.type == 0) {
      putVarint(field.scalar, bytes);
    } else if (field.type == 2) {
      std::string inside = field.bytes;
      if (!field.fields.empty()) {
        inside.clear();
        write(field.fields, inside);
      }
      putVarint(inside.size(), bytes);
      bytes += inside;
    } else {
      for (size_t i = 0; i < (field.type == 1 ? 8 : 4); ++i)
        bytes.push_back(char(field.scalar >> (8 * i)));
    }
  }
}

void WireMutator::collect(Message &message, std::vector<Place> &places) {
  for (size_t i = 0; i < message.size(); ++i) {
    places.push_back({&message, i});
    collect(message[i].fields, places);
  }
}

uint64_t WireMutator::interestingNumber(uint64_t old) {
  static constexpr int64_t numbers[] = {0, 1, 2, 3, 4, 7, 16, 64, 65535, -1, -2, INT32_MAX, INT32_MIN,
                                        int64_t(1) << 31, int64_t(1) << 32, int64_t(1) << 40, int64_t(1) << 61,
                                        INT64_MAX, INT64_MIN};
  switch (below(4)) {
  case 0: return old + 1;
  case 1: return old - 1;
  case 2: return old ^ uint64_t(1) << below(64);
  default: return uint64_t(numbers[below(std::size(numbers))]);
  }
}

void WireMutator::change(Message &root) {
  std::vector<Place> places;
  collect(root, places);
  if (places.empty())
    return;
  Place at = places[below(places.size())];
  Message &message = *at.message;
  Field &field = message[at.index];
  switch (below(10)) {
  case 0:
    message.erase(message.begin() + at.index);
    return;
  case 1:
    message.insert(message.begin() + at.index, Field(field));
    return;
  case 2:
    std::swap(field, message[below(message.size())]);
    return;
  case 3:
    field.number = 1 + below(25);
    return;
  case 4: { // another field in its place, or inside of it: graphs get nested this way
    const Place &from = places[below(places.size())];
    Field other = (*from.message)[from.index];
    if (field.fields.empty() || below(2))
      field = std::move(other);
    else
      field.fields.push_back(std::move(other));
    return;
  }
  case 5: { // what a field of the same meaning holds elsewhere: names of values, operators, sizes
    std::vector<const Field *> alike;
    for (const Place &place : places)
      if (const Field &other = (*place.message)[place.index]; other.number == field.number && other.type == field.type)
        alike.push_back(&other);
    Field other = *alike[below(alike.size())];
    field = std::move(other);
    return;
  }
  default:
    if (field.type != 2)
      field.scalar = interestingNumber(field.scalar);
    else if (field.fields.empty())
      mutateBytes(field.bytes, field.bytes.size() + 16);
    else
      message.insert(message.begin() + below(message.size() + 1), Field(field));
  }
}

std::string WireMutator::mutate(std::string_view bytes) {
  Message root;
  if (!read(bytes, root, 0))
    return std::string(bytes);
  for (size_t i = 0, count = 1 + below(3); i < count; ++i)
    change(root);
  std::string result;
  write(root, result);
  return result;
}

std::string WireMutator::cross(std::string_view bytes, std::string_view other) {
  Message root, donor;
  std::vector<Place> places, donorPlaces;
  if (read(bytes, root, 0) && read(other, donor, 0)) {
    collect(root, places);
    collect(donor, donorPlaces);
  }
  if (places.empty() || donorPlaces.empty())
    return std::string(bytes);
  const Place &from = donorPlaces[below(donorPlaces.size())];
  const Field &given = (*from.message)[from.index];
  // Beside or in place of a field of the same number, so that it likely means the same.
  std::vector<Place> alike;
  for (const Place &place : places)
    if ((*place.message)[place.index].number == given.number)
      alike.push_back(place);
  Place at = alike.empty() ? places[below(places.size())] : alike[below(alike.size())];
  if (below(2))
    (*at.message)[at.index] = given;
  else
    at.message->insert(at.message->begin() + at.index, given);
  std::string result;
  write(root, result);
  return result;
}

} // namespace nx::test
