#include "base/safetensors_writer.h"

#include <algorithm>
#include <cstdint>

#include "base/checksum.h"
#include "base/json.h"
#include "medgrad/io.h"

namespace medgrad {
namespace {

constexpr std::string_view kBegin = R"({"__metadata__":{"checksum":")";
constexpr std::size_t kLengthBytes = 8, kDigits = 16;
constexpr std::size_t kAt = kLengthBytes + kBegin.size();  // where the digits are

std::string json_text(std::string_view text) { return Json(text).dump(); }

// What comes before the digits and after them, up to the tensors.
struct Header {
  std::string before, after;
};

Header header_of(const std::vector<StoredTensor>& tensors, const StoredTexts& texts) {
  std::string after = "\"";
  for (const auto& [key, value] : texts)
    after.append(",").append(json_text(key)).append(":").append(json_text(value));
  after += "}";
  std::size_t at = 0;
  for (const StoredTensor& tensor : tensors) {
    const std::size_t end = at + tensor.bytes.size();
    const Json entry = {
        {"dtype", tensor.type}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    after.append(",").append(json_text(tensor.name)).append(":").append(entry.dump());
    at = end;
  }
  after += "}";
  // The tensors begin at a multiple of eight bytes, as the format has it.
  while ((kBegin.size() + kDigits + after.size()) % kLengthBytes != 0) after += ' ';
  const std::uint64_t length = kBegin.size() + kDigits + after.size();
  std::string before(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    before[i] = static_cast<char>(length >> 8 * i & 0xFFU);
  return {before.append(kBegin), after};
}

// The widest elements first: each then begins at a multiple of its width.
std::vector<StoredTensor> in_order(std::vector<StoredTensor> tensors) {
  std::ranges::sort(tensors, {}, [](const StoredTensor& tensor) {
    return std::pair(-static_cast<int>(bytes_per_element(tensor.type)),
                     std::string_view(tensor.name));
  });
  return tensors;
}

// Hands over the bytes of the file, piece by piece.
template <class Write>
void write_all(const std::vector<StoredTensor>& tensors, const StoredTexts& texts,
               const Write& write) {
  const Header header = header_of(tensors, texts);
  Checksum sum;
  sum.add(header.before);
  sum.add(header.after);
  for (const StoredTensor& tensor : tensors) sum.add(tensor.bytes);
  write(header.before);
  write(sum.text());
  write(header.after);
  for (const StoredTensor& tensor : tensors) write(tensor.bytes);
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, std::vector<StoredTensor> tensors,
                       const StoredTexts& texts) {
  OutputFile out(file.string());
  write_all(in_order(std::move(tensors)), texts, [&](std::string_view bytes) { out.write(bytes); });
  out.commit();
}

std::string safetensors_of(std::vector<StoredTensor> tensors, const StoredTexts& texts) {
  std::string file;
  write_all(in_order(std::move(tensors)), texts,
            [&](std::string_view bytes) { file.append(bytes); });
  return file;
}

bool has_its_checksum(std::string_view bytes) {
  if (bytes.size() < kAt + kDigits || bytes.substr(kLengthBytes, kBegin.size()) != kBegin)
    return false;
  Checksum sum;
  sum.add(bytes.substr(0, kAt));
  sum.add(bytes.substr(kAt + kDigits));
  return bytes.substr(kAt, kDigits) == sum.text();
}

}  // namespace medgrad
