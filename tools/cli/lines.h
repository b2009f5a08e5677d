// Reads lines of a file or pipe, plain or compressed with gzip, in bounded memory.
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

// Reads bytes of a file descriptor, decompressed if they start like gzip.
//
// Holds at most three buffers of 64 KiB, however large the input and the decompressed bytes are.
// Owner thread only.
class ByteSource {
 public:
  // Opens a file. NotFound if it cannot be opened.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);
  // Reads from a descriptor that the caller owns and keeps open.
  static std::unique_ptr<ByteSource> FromDescriptor(int descriptor);
  // Reads from another source, and decompresses its bytes once more if they start like gzip.
  // DataLoss: the bytes of `packed` are compressed, and there are more than `most` of them.
  static std::unique_ptr<ByteSource> Of(std::unique_ptr<ByteSource> packed, size_t most);

  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Appends up to 64 KiB to `out`; false at the end. DataLoss: reading fails, or the compressed
  // data is corrupt or cut off.
  absl::StatusOr<bool> Read(std::string* out);

  // Returns the bytes that Read will return first, at most 64 KiB; empty at the end. Must be called
  // before the first Read. Errors: see Read.
  absl::StatusOr<std::string_view> Peek();

  // Whether Read would block because a pipe or terminal has no data yet.
  [[nodiscard]] bool WouldWait() const;

 private:
  struct Inflater;
  ByteSource(int descriptor, bool owned);
  absl::StatusOr<size_t> Fill();
  absl::StatusOr<size_t> FillFromPacked();

  int descriptor_;  // -1 = reads packed_ instead
  bool owned_;
  std::unique_ptr<ByteSource> packed_;
  size_t most_packed_ = 0;  // bytes of packed_ that may still come
  bool started_ = false;
  std::string peeked_;  // Read returns these first
  std::vector<char> buffer_;
  std::unique_ptr<Inflater> inflater_;  // only for compressed input
};

// Reads the lines of a byte source, without their line ends. Owner thread only.
class LineSource {
 public:
  // The maximum length of a line, so that a binary file cannot fill the memory.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  explicit LineSource(std::unique_ptr<ByteSource> bytes, size_t max_line_bytes = kMaxLineBytes)
      : bytes_(std::move(bytes)), max_line_bytes_(max_line_bytes) {}

  // Reads the next line; false at the end. Drops a byte order mark at the start, and a carriage
  // return before a line end. InvalidArgument: the line is too long or not UTF-8; the next call
  // continues after it. FailedPrecondition: the input begins with the mark of UTF-16. Other errors:
  // see ByteSource.
  absl::StatusOr<bool> Next(std::string* line);

  // Whether Next would block because the sender has not sent the next line yet.
  [[nodiscard]] bool WouldWait() const;

  // Number of the last line returned, from 1.
  [[nodiscard]] size_t line_number() const { return line_number_; }

 private:
  absl::Status Start();
  absl::StatusOr<bool> Deliver(size_t length, size_t consumed, std::string* line);

  // Skips the rest of a line that is too long.
  absl::Status PassLongLine();

  std::unique_ptr<ByteSource> bytes_;
  const size_t max_line_bytes_;
  std::string pending_;
  size_t start_ = 0;  // where the unreturned part of pending_ starts
  size_t line_number_ = 0;
  bool started_ = false;
  bool ended_ = false;
  bool too_long_ = false;  // the next bytes are the rest of a refused line
};

// Whether the text is well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool IsUtf8(std::string_view text);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_LINES_H_
