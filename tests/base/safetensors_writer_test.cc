// Files that are written: by the definition of the format, and as our reader sees them.
#include "base/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "io/temporary_folder.h"
#include "testing.h"

namespace medgrad {
namespace {

template <class T>
std::string_view view_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

struct Example {
  std::vector<float> floats = {1.5F, -2, 3e38F};
  std::vector<double> doubles = {1e-300};
  std::vector<std::uint8_t> bytes = {7};
  std::vector<StoredTensor> tensors = {{"a \"b\"\n", "F32", {3, 1}, 3, view_of(floats)},
                                       {"none", "F32", {0, 4}, 0, {}},
                                       {"tiny", "U8", {}, 1, view_of(bytes)},
                                       {"z", "F64", {1}, 1, view_of(doubles)}};
  StoredTexts texts = {{"json", R"({"x": [1, "é\\"]})"}, {"empty", ""}};
};

TEST(SafeTensorsWriter, WritesWhatTheFormatDefines) {
  const Example example;
  const std::string file = safetensors_of(example.tensors, example.texts);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  EXPECT_EQ(length % 8, 0U);
  const auto header = nlohmann::json::parse(file.substr(8, length));
  const std::string data = file.substr(8 + length);
  EXPECT_EQ(header.size(), 5U);
  EXPECT_EQ(header["__metadata__"]["json"], R"({"x": [1, "é\\"]})");
  EXPECT_EQ(header["__metadata__"]["empty"], "");
  // The widest first, so that each begins at a multiple of its width.
  EXPECT_EQ(header["z"],
            nlohmann::json::parse(R"({"dtype": "F64", "shape": [1], "data_offsets": [0, 8]})"));
  EXPECT_EQ(header["a \"b\"\n"],
            nlohmann::json::parse(R"({"dtype": "F32", "shape": [3, 1], "data_offsets": [8, 20]})"));
  EXPECT_EQ(header["none"]["data_offsets"], nlohmann::json::parse("[20, 20]"));
  EXPECT_EQ(header["tiny"]["shape"], nlohmann::json::array());
  EXPECT_EQ(data, std::string(view_of(example.doubles)) + std::string(view_of(example.floats)) +
                      std::string(view_of(example.bytes)));
}

TEST(SafeTensorsWriter, IsReadBack) {
  const Example example;
  const testing::TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  write_safetensors(path, example.tensors, example.texts);
  EXPECT_EQ(read_whole(path), safetensors_of(example.tensors, example.texts));
  const SafeTensors read{std::filesystem::path(path)};
  ASSERT_EQ(read.tensors().size(), 4U);
  for (const StoredTensor& tensor : example.tensors) {
    const StoredTensor* const found = read.find(tensor.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->bytes, tensor.bytes);
  }
  EXPECT_EQ(read.metadata().at("json"), example.texts[0].second);
  EXPECT_TRUE(has_its_checksum(safetensors_of({}, {})));
  EXPECT_TRUE(SafeTensors("m.st", safetensors_of({}, {})).names().empty());
}

TEST(SafeTensorsWriter, EveryChangeShows) {
  const Example example;
  const std::string good = safetensors_of(example.tensors, example.texts);
  EXPECT_TRUE(has_its_checksum(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      EXPECT_FALSE(has_its_checksum(bad)) << i;
    }
    EXPECT_FALSE(has_its_checksum(std::string_view(good).substr(0, i)));
  }
  EXPECT_FALSE(has_its_checksum(good + '\0'));
}

}  // namespace
}  // namespace medgrad
