// Sends the signals of one poll of a source, so that the server sees one poll even if the signals
// need several messages.
#ifndef FRESHET_TOOLS_CLI_POLL_H_
#define FRESHET_TOOLS_CLI_POLL_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tools/cli/upload.h"

namespace freshet::cli {

using SignalUploader = Uploader<v1::SignalChangesRequest, v1::SignalChangesResponse>;

// Collects the signals of one poll. If they fit into one message, the server counts the pages of
// each host itself. Otherwise each message gives the size of the poll, as far as it is known when
// the message is sent. Thread-compatible.
class Poll {
 public:
  // `id` distinguishes the poll from others of the upload. The poll has at least `least` signals.
  Poll(uint64_t id, SignalUploader& uploader, uint64_t least = 0)
      : id_(id), least_(least), uploader_(uploader) {}

  // Adds a signal. Returns false if the stream is broken.
  bool Add(const v1::ChangeSignal& signal, uint64_t row) {
    ++size_;
    if (batch_.Full() && !Send(true)) return false;
    *batch_.request.add_signals() = signal;
    batch_.bytes += signal.ByteSizeLong();
    batch_.rows.push_back(row);
    return true;
  }

  // Sends the collected signals. If fewer than `least` signals have been sent by then, more must
  // follow.
  bool Flush() { return batch_.rows.empty() || Send(std::max(size_, least_) > batch_.rows.size()); }

 private:
  bool Send(bool part) {
    if (part) {
      batch_.request.set_poll_size(std::max(size_, least_));
      batch_.request.set_poll_id(id_);
    }
    return uploader_.Send(std::exchange(batch_, {}));
  }

  const uint64_t id_;
  const uint64_t least_;
  SignalUploader& uploader_;
  Batch<v1::SignalChangesRequest> batch_;
  uint64_t size_ = 0;
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_POLL_H_
