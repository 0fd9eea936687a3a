#include "base/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "base/place.h"
#include "base/text.h"
#include "medgrad/error.h"

namespace medgrad {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the bytes of a tensor are taken as they are");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kLongestHeader = 100'000'000;  // as the format has it

struct Type {
  std::string_view name;
  std::size_t size;
};
constexpr Type kTypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1},
                           {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1},   {"F8_E5M2", 1},
                           {"U64", 8}, {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}};

std::string shape_text(const StoredTensor& tensor) {
  std::string text = "(";
  for (const std::size_t n : tensor.shape) text += (text == "(" ? "" : ", ") + std::to_string(n);
  return text + ")";
}

// a b, or nothing where that is past the largest number.
std::optional<std::size_t> product(std::size_t a, std::size_t b) {
  if (b != 0 && a > std::numeric_limits<std::size_t>::max() / b) return std::nullopt;
  return a * b;
}

// Reads one entry of the header, whose bytes must lie in `data`.
StoredTensor tensor_of(const std::string& name, const Node& entry, std::string_view data,
                       const Place& place) {
  const Node &type_node = member(entry, "dtype", place),
             &shape_node = member(entry, "shape", place),
             &places_node = member(entry, "data_offsets", place);
  const Place shape_at(place, "shape"), places_at(place, "data_offsets");
  const Place type_at(place, "dtype");
  const auto* const type = std::ranges::find(kTypes, text_of(type_node, type_at), &Type::name);
  if (type == std::end(kTypes))
    type_at.must_be(type_node, "F64, F32, F16, BF16 or a type of whole numbers");

  StoredTensor tensor{
      .name = name, .type = std::string(type->name), .shape = {}, .elements = 1, .bytes = {}};
  // Zeros aside: a shape like (2^63, 0) has no elements, but strides that nobody can count.
  std::optional<std::size_t> extent = type->size;
  bool empty = false;
  const Node::List& shape = list_of(shape_node, shape_at);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    tensor.shape.push_back(whole_number_of(shape[i], Place(shape_at, i)));
    empty = empty || tensor.shape.back() == 0;
    if (extent) extent = product(*extent, std::max<std::size_t>(tensor.shape.back(), 1));
  }
  if (!extent || *extent >= std::size_t{1} << 63)
    shape_at.fail("has more elements than any file can hold.");
  const std::size_t size = empty ? 0 : *extent;
  tensor.elements = size / type->size;

  const Node::List& places = list_of(places_node, places_at);
  if (places.size() != 2)
    places_at.fail(fmt::format("has {}; it must have 2.", counted(places.size(), "number")));
  const std::size_t begin = whole_number_of(places[0], Place(places_at, std::size_t{0}));
  const std::size_t end = whole_number_of(places[1], Place(places_at, std::size_t{1}));
  if (begin > end || end > data.size()) {
    places_at.fail(fmt::format("is {} to {}, where the data of the file has {}.", begin, end,
                               counted(data.size(), "byte")));
  }
  if (end - begin != size) {
    places_at.fail(fmt::format("has room for {}, where the shape {} of {} needs {}.",
                               counted(end - begin, "byte"), shape_text(tensor), tensor.type,
                               size));
  }
  tensor.bytes = data.substr(begin, end - begin);
  return tensor;
}

// Calls convert for each element, wherever its bytes lie.
template <class Bits, class Convert>
void convert_all(std::string_view bytes, std::span<float> out, Convert convert) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    out[i] = convert(bits);
  }
}

}  // namespace

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU, fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero, or a multiple of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::size_t bytes_per_element(std::string_view type) {
  const auto* const found = std::ranges::find(kTypes, type, &Type::name);
  return found == std::end(kTypes) ? 0 : found->size;
}

SafeTensors::SafeTensors(const std::filesystem::path& file)
    : file_(file.string()), mapped_(MappedFile(file)) {
  parse(mapped_->bytes());
}

SafeTensors::SafeTensors(std::string name, std::string_view bytes) : file_(std::move(name)) {
  parse(bytes);
}

void SafeTensors::parse(std::string_view bytes) {
  if (bytes.size() < kLengthBytes)
    throw Error(fmt::format("{} is not a safetensors file: it has {}.", file_,
                            counted(bytes.size(), "byte")));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  bytes.remove_prefix(kLengthBytes);
  if (length > kLongestHeader || !bytes.starts_with('{'))
    throw Error(
        file_ +
        " is not a safetensors file: it does not begin with the length of a header and '{'.");
  if (length > bytes.size()) {
    throw Error(fmt::format("{} is truncated: the header has {}, {} there.", file_,
                            counted(length, "byte"), counted(bytes.size(), "is", "are")));
  }
  const auto header_length = static_cast<std::size_t>(length);
  const Node header = parse_document(bytes.substr(0, header_length), file_);
  data_ = bytes.substr(header_length);

  const Place root(file_);
  for (const auto& [name, entry] : *header.object()) {
    // A name is the user's text: shown with what is not printable escaped.
    const std::string shown = internal::quoted(name);
    const Place place(root, shown);
    if (name != "__metadata__") {
      tensors_.push_back(tensor_of(name, entry, data_, place));
      continue;
    }
    if (entry.object() == nullptr) place.must_be(entry, "an object");
    for (const auto& [key, value] : *entry.object())
      metadata_[key] = text_of(value, Place(place, internal::quoted(key)));
  }
  std::ranges::sort(tensors_, {}, &StoredTensor::name);
  check_places(data_.size());
}

// End to end, and to the end of the file.
void SafeTensors::check_places(std::size_t data_size) const {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : tensors_) order.push_back(&tensor);
  const auto begin = [this](const StoredTensor* t) {
    return static_cast<std::size_t>(t->bytes.data() - data_.data());
  };
  std::ranges::sort(order, [&begin](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(begin(a), a->bytes.size()) < std::pair(begin(b), b->bytes.size());
  });
  std::size_t end = 0;
  for (const StoredTensor* const tensor : order) {
    if (begin(tensor) != end) {
      throw Error(
          fmt::format("{}: {} begins at byte {} of the data, where the tensor before it ends at "
                      "{}; tensors must follow each other without gaps.",
                      file_, internal::quoted(tensor->name), begin(tensor), end));
    }
    end += tensor->bytes.size();
  }
  if (end != data_size) {
    throw Error(fmt::format("{} continues after its tensors: they have {}, {} there.", file_,
                            counted(end, "byte"), counted(data_size, "is", "are")));
  }
}

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : tensors_) names.push_back(tensor.name);
  return names;
}

const StoredTensor* SafeTensors::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &StoredTensor::name);
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

const StoredTensor& SafeTensors::must(std::string_view name) const {
  const StoredTensor* const tensor = find(name);
  if (tensor == nullptr) throw Error(fmt::format("{} has no tensor '{}'.", file_, name));
  return *tensor;
}

void SafeTensors::read(std::string_view name, std::span<float> out) const {
  const StoredTensor& tensor = must(name);
  if (tensor.elements != out.size()) {
    throw Error(fmt::format("{}: {} has the shape {}, where {} needed.", file_,
                            internal::quoted(name), shape_text(tensor),
                            counted(out.size(), "number is", "numbers are")));
  }
  if (out.empty()) return;
  if (tensor.type == "F32") {
    std::memcpy(out.data(), tensor.bytes.data(), out.size_bytes());
  } else if (tensor.type == "F16") {
    convert_all<std::uint16_t>(tensor.bytes, out, float_of_half);
  } else if (tensor.type == "BF16") {
    convert_all<std::uint16_t>(tensor.bytes, out, float_of_bfloat16);
  } else if (tensor.type == "F64") {
    convert_all<double>(tensor.bytes, out, [](double x) { return static_cast<float>(x); });
  } else {
    throw Error(fmt::format("{}: {} has elements of type {}; it must be F32, F16, BF16 or F64.",
                            file_, internal::quoted(name), tensor.type));
  }
}

std::vector<float> SafeTensors::read(std::string_view name) const {
  std::vector<float> values(must(name).elements);
  read(name, values);
  return values;
}

}  // namespace medgrad
