// Checkpoint files: right ones of every type, and the sentence for each way one can be wrong.
#include "base/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "text/data.h"

namespace medgrad {
namespace {

using medgrad::testing::kNeedsData;
using medgrad::testing::lacks;
using medgrad::testing::message_of;
using medgrad::testing::real_data;

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

TEST(SafeTensors, ReadsEveryTypeOfRealNumbers) {
  const std::string file = file_of(
      R"({"__metadata__": {"format": "pt"},
          "half": {"dtype": "F16", "shape": [4], "data_offsets": [0, 8]},
          "brain": {"dtype": "BF16", "shape": [2], "data_offsets": [8, 12]},
          "a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [12, 20]},
          "ids": {"dtype": "I64", "shape": [], "data_offsets": [28, 36]},
          "none": {"dtype": "F32", "shape": [0, 7], "data_offsets": [20, 20]},
          "double": {"dtype": "F64", "shape": [1], "data_offsets": [20, 28]}}   )",
      bytes_of<std::uint16_t>({0x3C00, 0xC000, 0x0001, 0x7BFF}) +
          bytes_of<std::uint16_t>({0x3F80, 0xC049}) + bytes_of<float>({0.1F, -2}) +
          bytes_of<double>({0.5}) + bytes_of<std::int64_t>({7}));
  const SafeTensors tensors("m.safetensors", file);
  EXPECT_EQ(tensors.names(),
            (std::vector<std::string>{"a", "brain", "double", "half", "ids", "none"}));
  EXPECT_EQ(tensors.metadata().at("format"), "pt");
  EXPECT_EQ(tensors.read("half"), (std::vector<float>{1, -2, 0x1p-24F, 65504}));
  EXPECT_EQ(tensors.read("brain"), (std::vector<float>{1, -3.140625F}));
  EXPECT_EQ(tensors.read("a"), (std::vector<float>{0.1F, -2}));
  EXPECT_EQ(tensors.read("double"), (std::vector<float>{0.5F}));
  EXPECT_TRUE(tensors.read("none").empty());
  EXPECT_EQ(tensors.find("a")->shape, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(tensors.find("ids")->elements, 1U);
  EXPECT_EQ(tensors.find("b"), nullptr);

  EXPECT_EQ(message_of([&] { return tensors.read("ids"); }),
            "m.safetensors: 'ids' has elements of type I64; it must be F32, F16, BF16 or F64.");
  EXPECT_EQ(message_of([&] { return tensors.read("b"); }), "m.safetensors has no tensor 'b'.");
  std::vector<float> three(3);
  EXPECT_EQ(message_of([&] { return tensors.read("a", three), 0; }),
            "m.safetensors: 'a' has the shape (1, 2), where 3 numbers are needed.");
}

TEST(SafeTensors, HalfPrecisionIsExact) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float_of_half(static_cast<std::uint16_t>(bits));
    const std::uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 == 0 ? 1 : -1;
    if (exponent == 31) {
      EXPECT_EQ(std::isinf(value), fraction == 0);
      EXPECT_EQ(std::isnan(value), fraction != 0);
      continue;
    }
    const double expected = exponent == 0
                                ? std::ldexp(fraction, -24)
                                : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    ASSERT_EQ(value, sign * expected) << bits;
    ASSERT_EQ(std::signbit(value), sign < 0);
  }
  EXPECT_EQ(float_of_bfloat16(0x7F7F), 0x1.FEp127F);
}

struct Bad {
  std::string file, sentence;
};

std::string entry(const std::string& shape, const std::string& offsets,
                  const std::string& type = "F32") {
  return "{\"dtype\": \"" + type + "\", \"shape\": " + shape + ", \"data_offsets\": " + offsets +
         "}";
}

std::string one(const std::string& shape, const std::string& offsets, std::size_t data,
                const std::string& type = "F32") {
  return file_of("{\"a\": " + entry(shape, offsets, type) + "}", std::string(data, '\0'));
}

TEST(SafeTensors, SaysWhatIsWrongAndWhere) {
  const std::string begins =
      "m.st is not a safetensors file: it does not begin with the length of a header and '{'.";
  const std::string huge = "4294967296";
  const Bad bads[] = {
      {"", "m.st is not a safetensors file: it has 0 bytes."},
      {"1", "m.st is not a safetensors file: it has 1 byte."},
      {"1234567", "m.st is not a safetensors file: it has 7 bytes."},
      {std::string(8, '\0'), begins},
      {std::string(8, '\xff') + "{}", begins},
      {file_of("[]", ""), begins},
      {file_of("{}", "").substr(0, 9), "m.st is truncated: the header has 2 bytes, 1 is there."},
      {file_of("{\"a\": ", ""), "m.st:1: this is not JSON: it ends too early."},
      {file_of("{\"a\"\n;", "x"), "m.st:2: this is not JSON: invalid literal; expected ':'."},
      {file_of("{} {}", ""), "m.st:1: this is not JSON: unexpected '{'; expected end of input."},
      {file_of("{\"a\": 1}", ""), "m.st: 'a' is '1'; it must be an object."},
      {file_of("{\"a\": {}}", ""), "m.st: 'a' has no 'dtype'."},
      {one("[1]", "[0, 4]", 4, "F31"),
       "m.st: 'a'.dtype is 'F31'; it must be F64, F32, F16, BF16 or a type of whole numbers."},
      {one("[-1]", "[0, 4]", 4),
       "m.st: 'a'.shape[0] is '-1'; it must be a whole number, 0 or more."},
      {one("[1.5]", "[0, 4]", 4),
       "m.st: 'a'.shape[0] is '1.5'; it must be a whole number, 0 or more."},
      {one("3", "[0, 4]", 4), "m.st: 'a'.shape is '3'; it must be a list."},
      {one("[" + huge + ", " + huge + "]", "[0, 0]", 0),
       "m.st: 'a'.shape has more elements than any file can hold."},
      {one("[9223372036854775808, 0]", "[0, 0]", 0),
       "m.st: 'a'.shape[0] is '9.223372036854776e+18'; it must be at most 9007199254740992."},
      {one("[9007199254740992, 2048, 0]", "[0, 0]", 0),
       "m.st: 'a'.shape has more elements than any file can hold."},
      {one("[0, " + huge + ", " + huge + "]", "[0, 0]", 0),
       "m.st: 'a'.shape has more elements than any file can hold."},
      {one("[9007199254740992, 256]", "[0, 0]", 0),
       "m.st: 'a'.shape has more elements than any file can hold."},
      {one("[1]", "[0]", 4), "m.st: 'a'.data_offsets has 1 number; it must have 2."},
      {one("[1]", "[0, 4]", 3),
       "m.st: 'a'.data_offsets is 0 to 4, where the data of the file has 3 bytes."},
      {one("[1]", "[4, 0]", 4),
       "m.st: 'a'.data_offsets is 4 to 0, where the data of the file has 4 bytes."},
      {one("[1]", "[18446744073709551612, 18446744073709551615]", 4),
       "m.st: 'a'.data_offsets[0] is '1.8446744073709552e+19'; it must be at most "
       "9007199254740992."},
      {one("[2]", "[0, 4]", 4),
       "m.st: 'a'.data_offsets has room for 4 bytes, where the shape (2) of F32 needs 8."},
      {one("[1]", "[0, 4]", 5),
       "m.st continues after its tensors: they have 4 bytes, 5 are there."},
      {one("[1]", "[4, 8]", 8),
       "m.st: 'a' begins at byte 4 of the data, where the tensor before it ends at 0; tensors "
       "must follow each other without gaps."},
      {file_of("{\"a\": " + entry("[2]", "[0, 8]") + ", \"b\": " + entry("[1]", "[4, 8]") + "}",
               std::string(8, '\0')),
       "m.st: 'b' begins at byte 4 of the data, where the tensor before it ends at 8; tensors "
       "must follow each other without gaps."},
      {file_of("{\"a\": " + entry("[1]", "[0, 4]") + ", \"a\": " + entry("[1]", "[0, 4]") + "}",
               std::string(4, '\0')),
       "m.st:1: 'a' is given twice."},
      {file_of("{\"a\\n\\u00e9\": 1}", ""), "m.st: 'a\\x0a\u00e9' is '1'; it must be an object."},
      {file_of("{\"__metadata__\": {\"a\": 1}}", ""),
       "m.st: '__metadata__'.'a' is '1'; it must be text."},
      {file_of("{\"__metadata__\": 1}", ""), "m.st: '__metadata__' is '1'; it must be an object."},
  };
  for (const Bad& bad : bads)
    EXPECT_EQ(message_of([&] { return SafeTensors("m.st", bad.file).names(); }), bad.sentence);
  EXPECT_TRUE(SafeTensors("m.st", file_of("{}", "")).names().empty());
}

TEST(RealSafeTensors, ReadsTheEncoder) {
  if (lacks("minilm-l6")) GTEST_SKIP() << kNeedsData;
  const SafeTensors tensors(real_data() / "minilm-l6" / "model.safetensors");
  // 5 of the embeddings, 16 of each of 6 layers, 2 of the pooler where it is there.
  EXPECT_GE(tensors.names().size(), 101U);
  const StoredTensor* const words = tensors.find("embeddings.word_embeddings.weight");
  ASSERT_NE(words, nullptr);
  EXPECT_EQ(words->shape, (std::vector<std::size_t>{30522, 384}));
  double sum = 0;
  for (const float x : tensors.read(words->name)) {
    ASSERT_TRUE(std::isfinite(x));
    sum += static_cast<double>(x) * x;
  }
  // Embeddings are small, and not zero.
  const double rms = std::sqrt(sum / static_cast<double>(words->elements));
  EXPECT_GT(rms, 0.01);
  EXPECT_LT(rms, 0.2);
}

}  // namespace
}  // namespace medgrad
