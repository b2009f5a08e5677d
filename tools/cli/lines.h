// Lines of a file or pipe, plain or gzip-compressed, in bounded memory.
#ifndef FRESHET_TOOLS_CLI_LINES_H_
#define FRESHET_TOOLS_CLI_LINES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace freshet::cli {

// Bytes of a file descriptor, decompressed if they start like gzip.
//
// Holds at most three buffers of 64 KiB, whatever the size of the input and of what it decompresses
// to. Owner thread only.
class ByteSource {
 public:
  // Opens a file. NotFound if it cannot be opened.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);
  // Reads from a descriptor that stays open and owned by others.
  static std::unique_ptr<ByteSource> FromDescriptor(int descriptor);
  // What another source has, decompressed if that starts like gzip, too. DataLoss if it has more
  // than `most` bytes, and is compressed.
  static std::unique_ptr<ByteSource> Of(std::unique_ptr<ByteSource> packed, size_t most);

  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Appends some bytes to `out`, 64 KiB at most; false at the end. DataLoss if reading fails or the
  // compressed data is corrupt or cut off.
  absl::StatusOr<bool> Read(std::string* out);

  // What Read returns first, 64 KiB at most, without taking it; empty at the end. Only before the
  // first Read. Fails as Read.
  absl::StatusOr<std::string_view> Peek();

  // True if Read would block because a pipe or terminal has nothing to read yet.
  [[nodiscard]] bool WouldWait() const;

 private:
  struct Inflater;
  ByteSource(int descriptor, bool owned);
  absl::StatusOr<size_t> Fill();
  absl::StatusOr<size_t> FillFromPacked();

  int descriptor_;  // -1: of packed_
  bool owned_;
  std::unique_ptr<ByteSource> packed_;
  size_t most_packed_ = 0;  // bytes of these that may still come
  bool started_ = false;
  std::string peeked_;  // what Read returns before anything else
  std::vector<char> buffer_;
  std::unique_ptr<Inflater> inflater_;  // only for compressed input
};

// Lines of a byte source, without their ends. Owner thread only.
class LineSource {
 public:
  // Longest line, so that a binary file cannot fill the memory.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  explicit LineSource(std::unique_ptr<ByteSource> bytes, size_t max_line_bytes = kMaxLineBytes)
      : bytes_(std::move(bytes)), max_line_bytes_(max_line_bytes) {}

  // The next line; false at the end. A byte order mark at the start is dropped, as is a carriage
  // return before a line end. InvalidArgument for a line that is too long or not UTF-8: the next
  // call goes on behind it. FailedPrecondition for an input that begins with the mark of UTF-16.
  // Other errors are those of ByteSource.
  absl::StatusOr<bool> Next(std::string* line);

  // True if Next would block because the sender is slow.
  [[nodiscard]] bool WouldWait() const;

  // Number of the last line returned, from 1.
  [[nodiscard]] size_t line_number() const { return line_number_; }

 private:
  absl::Status Start();
  absl::StatusOr<bool> Deliver(size_t length, size_t consumed, std::string* line);

  // Reads on to the end of a line that was too long.
  absl::Status PassLongLine();

  std::unique_ptr<ByteSource> bytes_;
  const size_t max_line_bytes_;
  std::string pending_;
  size_t start_ = 0;  // of the part of pending_ that is not yet returned
  size_t line_number_ = 0;
  bool started_ = false;
  bool ended_ = false;
  bool too_long_ = false;  // what comes next is the rest of a line that was refused
};

// True if the text is well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool IsUtf8(std::string_view text);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_LINES_H_
