#include "tools/cli/lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace freshet::cli {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

// The number of continuation bytes after a first byte, and the smallest code point of that length.
struct Utf8Form {
  int following;
  char32_t smallest;
  char32_t bits;
};

bool DecodeFirst(unsigned char byte, Utf8Form* form) {
  if (byte < 0x80)
    *form = {0, 0, byte};
  else if ((byte & 0xE0) == 0xC0)
    *form = {1, 0x80, static_cast<char32_t>(byte & 0x1F)};
  else if ((byte & 0xF0) == 0xE0)
    *form = {2, 0x800, static_cast<char32_t>(byte & 0x0F)};
  else if ((byte & 0xF8) == 0xF0)
    *form = {3, 0x10000, static_cast<char32_t>(byte & 0x07)};
  else
    return false;
  return true;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    Utf8Form form{};
    if (!DecodeFirst(static_cast<unsigned char>(text[i++]), &form)) return false;
    char32_t code = form.bits;
    for (int k = 0; k < form.following; ++k) {
      if (i == text.size()) return false;
      const auto byte = static_cast<unsigned char>(text[i++]);
      if ((byte & 0xC0) != 0x80) return false;
      code = (code << 6) | (byte & 0x3F);
    }
    if (code < form.smallest || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  }
  return true;
}

// The state of zlib. It must not move, because zlib keeps pointers into it.
struct ByteSource::Inflater {
  static constexpr uLong kMagicBytes = 2;  // first bytes of a member
  z_stream stream{};
  bool ended = false;    // the present member is complete
  bool further = false;  // the first member is complete; the rest may be further members
  bool over = false;     // the rest is not a member, and is skipped as by gzip
  bool full = false;     // the last output filled the buffer; more output can follow without input
  std::vector<char> piece = std::vector<char>(kBufferBytes);

  Inflater() { inflateInit2(&stream, 16 + MAX_WBITS); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  [[nodiscard]] bool NeedsInput() const { return (stream.avail_in == 0 && !full) || over; }
  // Whether the input may end here, because no member is incomplete.
  [[nodiscard]] bool MayEnd() const {
    return ended || over || (further && stream.total_in < kMagicBytes);
  }
  void Give(char* input, size_t size) {
    stream.next_in = reinterpret_cast<Bytef*>(input);
    stream.avail_in = static_cast<uInt>(size);
  }
  // Decompresses the next piece and appends it to `out`. A file can consist of several compressed
  // members, and end with other bytes.
  absl::Status Append(std::string* out) {
    if (over) return absl::OkStatus();
    if (ended) {
      inflateReset(&stream);
      ended = false;
      further = true;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    out->append(piece.data(), piece.size() - stream.avail_out);
    over = further && result == Z_DATA_ERROR && stream.total_in <= kMagicBytes;
    if (over) return absl::OkStatus();
    // Z_BUF_ERROR: zlib needs more input.
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return absl::DataLossError("the compressed input is corrupt");
    }
    ended = result == Z_STREAM_END;
    full = result == Z_OK && stream.avail_out == 0;
    return absl::OkStatus();
  }
};

ByteSource::ByteSource(int descriptor, bool owned)
    : descriptor_(descriptor), owned_(owned), buffer_(kBufferBytes) {}

ByteSource::~ByteSource() {
  if (owned_) close(descriptor_);
}

absl::StatusOr<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return absl::NotFoundError(std::strerror(errno));
  }
  return std::unique_ptr<ByteSource>(new ByteSource(descriptor, true));
}

std::unique_ptr<ByteSource> ByteSource::FromDescriptor(int descriptor) {
  return std::unique_ptr<ByteSource>(new ByteSource(descriptor, false));
}

std::unique_ptr<ByteSource> ByteSource::Of(std::unique_ptr<ByteSource> packed, size_t most) {
  std::unique_ptr<ByteSource> source(new ByteSource(-1, false));
  source->packed_ = std::move(packed);
  source->most_packed_ = most;
  return source;
}

absl::StatusOr<size_t> ByteSource::FillFromPacked() {
  std::string part;
  const absl::StatusOr<bool> more = packed_->Read(&part);
  if (!more.ok()) return more.status();
  if (part.size() > most_packed_ && inflater_ != nullptr) {
    return absl::DataLossError("it is compressed twice, and the first time to too much");
  }
  most_packed_ -= std::min(part.size(), most_packed_);
  std::copy(part.begin(), part.end(), buffer_.begin());
  return part.size();
}

absl::StatusOr<size_t> ByteSource::Fill() {
  if (packed_ != nullptr) return FillFromPacked();
  while (true) {
    const ssize_t got = read(descriptor_, buffer_.data(), buffer_.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return absl::DataLossError(std::strerror(errno));
  }
}

absl::StatusOr<std::string_view> ByteSource::Peek() {
  if (peeked_.empty()) {
    const absl::StatusOr<bool> more = Read(&peeked_);
    if (!more.ok()) return more.status();
  }
  return peeked_;
}

absl::StatusOr<bool> ByteSource::Read(std::string* out) {
  if (!peeked_.empty() && out != &peeked_) {
    out->append(std::exchange(peeked_, {}));
    return true;
  }
  const size_t before = out->size();
  while (out->size() == before) {
    if (!inflater_ || inflater_->NeedsInput()) {
      const absl::StatusOr<size_t> got = Fill();
      if (!got.ok()) return got.status();
      if (*got == 0) {
        if (!inflater_ || inflater_->MayEnd()) return false;
        return absl::DataLossError("the compressed input is cut off");
      }
      const bool gzip = !started_ && *got >= 2 && buffer_[0] == '\x1f' && buffer_[1] == '\x8b';
      if (gzip) inflater_ = std::make_unique<Inflater>();
      started_ = true;
      if (!inflater_) {
        out->append(buffer_.data(), *got);
        return true;
      }
      inflater_->Give(buffer_.data(), *got);
    }
    const absl::Status status = inflater_->Append(out);
    if (!status.ok()) return status;
  }
  return true;
}

bool ByteSource::WouldWait() const {
  if (!peeked_.empty()) return false;
  if (inflater_ && !inflater_->NeedsInput()) return false;
  if (packed_ != nullptr) return packed_->WouldWait();
  pollfd wait{descriptor_, POLLIN, 0};
  return poll(&wait, 1, 0) == 0;
}

absl::StatusOr<bool> LineSource::Deliver(size_t length, size_t consumed, std::string* line) {
  line->assign(pending_, start_, length);
  start_ += consumed;
  ++line_number_;
  if (!line->empty() && line->back() == '\r') line->pop_back();
  if (line_number_ == 1 && line->rfind("\xEF\xBB\xBF", 0) == 0) line->erase(0, 3);
  if (!IsUtf8(*line)) {
    return absl::InvalidArgumentError(fmt::format("row {}: not valid UTF-8", line_number_));
  }
  return true;
}

absl::Status LineSource::PassLongLine() {
  while (too_long_) {
    const size_t end = pending_.find('\n', start_);
    if (end != std::string::npos) {
      start_ = end + 1;
      too_long_ = false;
      break;
    }
    pending_.clear();
    start_ = 0;
    if (ended_) break;
    const absl::StatusOr<bool> more = bytes_->Read(&pending_);
    if (!more.ok()) return more.status();
    ended_ = !*more;
  }
  return absl::OkStatus();
}

absl::Status LineSource::Start() {
  while (!ended_ && pending_.size() < 2) {
    const absl::StatusOr<bool> more = bytes_->Read(&pending_);
    if (!more.ok()) return more.status();
    ended_ = !*more;
  }
  started_ = true;
  if (!pending_.starts_with("\xFF\xFE") && !pending_.starts_with("\xFE\xFF")) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "it is UTF-16: make it UTF-8 first, such as by iconv -f UTF-16 -t UTF-8");
}

absl::StatusOr<bool> LineSource::Next(std::string* line) {
  const absl::Status started = started_ ? absl::OkStatus() : Start();
  if (!started.ok()) return started;
  const absl::Status passed = PassLongLine();
  if (!passed.ok()) return passed;
  size_t searched = start_;
  while (true) {
    const size_t end = pending_.find('\n', searched);
    if (end != std::string::npos) return Deliver(end - start_, end - start_ + 1, line);
    if (pending_.size() - start_ > max_line_bytes_) {
      too_long_ = true;
      ++line_number_;
      return absl::InvalidArgumentError(
          fmt::format("row {}: longer than {} bytes", line_number_, max_line_bytes_));
    }
    if (ended_) {
      if (start_ == pending_.size()) return false;
      return Deliver(pending_.size() - start_, pending_.size() - start_, line);
    }
    pending_.erase(0, start_);
    start_ = 0;
    searched = pending_.size();
    const absl::StatusOr<bool> more = bytes_->Read(&pending_);
    if (!more.ok()) return more.status();
    ended_ = !*more;
  }
}

bool LineSource::WouldWait() const {
  if (ended_ || pending_.find('\n', start_) != std::string::npos) return false;
  return bytes_->WouldWait();
}

}  // namespace freshet::cli
