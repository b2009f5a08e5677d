// Fetches the file of a host that is to hold a key, though strangers say which: only from public
// addresses, never anywhere else than where it was looked for, and never much.
#ifndef FRESHET_SERVER_INDEXNOW_KEY_FETCHER_H_
#define FRESHET_SERVER_INDEXNOW_KEY_FETCHER_H_

#include <atomic>
#include <string>

#include "core/base/units.h"
#include "server/indexnow/ping.h"

namespace freshet {

// Value type, thread-compatible.
struct KeyFetch {
  enum class Outcome {
    kGood,         // the file holds the key
    kBad,          // it holds something else, is not there, or is where nobody is sent to
    kUnreachable,  // it may be good another time
  };
  Outcome outcome = Outcome::kUnreachable;
  std::string why;  // not good; nothing of what the host has answered is in it
};

// Looks the host up and connects to one of the addresses found, and to no other: what the name
// means a moment later is not asked. All of them must be public (core/base/public_address.h).
// HTTPS checks the host's certificate against the system's authorities. No redirect is followed.
// The answer must be 200 with the key and nothing else but white space around it, at most
// limits::kMaxKeyFileBytes. Takes at most `timeout` to look up the name, and as long again for the
// rest; returns early when `cancelled` becomes true. `test_port` is that of
// IndexNowConfig. Thread-safe.
[[nodiscard]] KeyFetch FetchKey(const KeyFile& file, const std::string& key, Duration timeout,
                                int test_port, const std::atomic<bool>& cancelled);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_FETCHER_H_
