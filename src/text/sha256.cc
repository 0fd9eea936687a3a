#include "text/sha256.h"

#include <array>
#include <bit>
#include <cstdint>

namespace medgrad::text {
namespace {

using Word = std::uint32_t;
using State = std::array<Word, 8>;

constexpr std::size_t kBlock = 64;

// The first 32 bits behind the point of the square roots of the first 8 primes, and of the cube
// roots of the first 64.
constexpr State kStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<Word, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void add_block(State& state, const char* block) {
  std::array<Word, 64> w;
  for (std::size_t t = 0; t < 16; ++t) {
    w[t] = 0;
    for (std::size_t i = 0; i < 4; ++i)
      w[t] = w[t] << 8 | static_cast<unsigned char>(block[4 * t + i]);
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const Word a = w[t - 15], b = w[t - 2];
    w[t] = w[t - 16] + w[t - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const Word first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                       ((e & f) ^ (~e & g)) + kRounds[t] + w[t];
    const Word second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State sum = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += sum[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  State state = kStart;
  const std::uint64_t bits = std::uint64_t{8} * bytes.size();
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) add_block(state, bytes.data());
  // A one, zeros, and the length in bits fill the last block, or the last two.
  std::string last(bytes);
  last += '\x80';
  while (last.size() % kBlock != kBlock - 8) last += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) last += static_cast<char>(bits >> shift & 0xFF);
  for (std::size_t at = 0; at < last.size(); at += kBlock) add_block(state, last.data() + at);

  std::string text;
  for (const Word word : state)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 0xF];
  return text;
}

}  // namespace medgrad::text
