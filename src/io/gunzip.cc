#include "io/gunzip.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "medgrad/error.h"

#if MEDGRAD_HAS_ZLIB
#include <zlib.h>
#endif

namespace medgrad::internal {

#if MEDGRAD_HAS_ZLIB

struct Gunzip::State {
  std::string name;
  std::vector<unsigned char> packed;
  z_stream stream = {};
  bool between_members = false;  // a file may be several of gzip's one after the other
  std::string damage;            // told when the bytes before it have been delivered
};

Gunzip::Gunzip(std::string name, std::string_view first) : state_(std::make_unique<State>()) {
  constexpr std::size_t kBuffer = 1 << 18;
  state_->name = std::move(name);
  state_->packed.resize(std::max(kBuffer, first.size()));
  std::copy(first.begin(), first.end(), state_->packed.begin());
  state_->stream.next_in = state_->packed.data();
  state_->stream.avail_in = static_cast<unsigned>(first.size());
  constexpr int kLargestWindow = 15, kOnlyGzip = 16;
  if (::inflateInit2(&state_->stream, kLargestWindow + kOnlyGzip) != Z_OK) throw std::bad_alloc();
}

Gunzip::~Gunzip() { ::inflateEnd(&state_->stream); }

std::size_t Gunzip::read(std::span<char> out,
                         const std::function<std::size_t(std::span<char>)>& raw) {
  State& state = *state_;
  if (!state.damage.empty()) throw Error(state.damage);
  z_stream& stream = state.stream;
  const std::size_t wanted =
      std::min<std::size_t>(out.size(), std::numeric_limits<unsigned>::max());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(wanted);
  while (stream.avail_out == wanted) {
    bool at_end = false;
    if (stream.avail_in == 0) {
      stream.next_in = state.packed.data();
      stream.avail_in = static_cast<unsigned>(
          raw({reinterpret_cast<char*>(state.packed.data()), state.packed.size()}));
      at_end = stream.avail_in == 0;
      if (at_end && state.between_members) return 0;
    }
    if (state.between_members) {
      if (*stream.next_in != static_cast<unsigned char>(kGzipMagic.front()))
        throw Error(state.name + " is damaged: something follows its gzip data.");
      ::inflateReset(&stream);
      state.between_members = false;
    }
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      state.between_members = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      const std::string why = stream.msg != nullptr ? stream.msg : "unknown";
      state.damage =
          fmt::format("{} is damaged: its gzip data cannot be unpacked ({}).", state.name, why);
      if (stream.avail_out == wanted) throw Error(state.damage);
      break;
    } else if (at_end && stream.avail_out == wanted) {  // what zlib held back is delivered as well
      throw Error(state.name + " is truncated: its gzip data end too early.");
    }
  }
  return wanted - stream.avail_out;
}

#else

struct Gunzip::State {};

Gunzip::Gunzip(std::string name, std::string_view) {
  throw Error(name +
              " is compressed with gzip, which this build cannot read (it has no zlib); decompress "
              "it first, as with gunzip.");
}

Gunzip::~Gunzip() = default;

std::size_t Gunzip::read(std::span<char>, const std::function<std::size_t(std::span<char>)>&) {
  return 0;
}

#endif

}  // namespace medgrad::internal
