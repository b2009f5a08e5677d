// Fetches the key file of a host. Strangers choose the host, so the fetch goes only to public
// addresses, follows no redirect, and reads little.
#ifndef FRESHET_SERVER_INDEXNOW_KEY_FETCHER_H_
#define FRESHET_SERVER_INDEXNOW_KEY_FETCHER_H_

#include <atomic>
#include <string>

#include "core/base/units.h"
#include "server/indexnow/ping.h"

namespace freshet {

// The outcome of a fetch. Value type, thread-compatible.
struct KeyFetch {
  enum class Outcome {
    kGood,         // the file holds the key
    kBad,          // the file holds another text, is missing, or lies at an address that is not
                   // public
    kUnreachable,  // the key may be good at another time
  };
  Outcome outcome = Outcome::kUnreachable;
  std::string why;  // the reason if not good; holds nothing of the host's answer
};

// Looks the host up once, and connects only to one of the addresses found. All of them must be
// public (core/base/public_address.h). HTTPS checks the host's certificate against the system's
// authorities. No redirect is followed. The answer must be 200 with the key and nothing else but
// white space around it, at most limits::kMaxKeyFileBytes. Takes at most `timeout` for the lookup,
// and as much again for the rest; returns early when `cancelled` becomes true. `test_port`: see
// IndexNowConfig. Thread-safe.
[[nodiscard]] KeyFetch FetchKey(const KeyFile& file, const std::string& key, Duration timeout,
                                int test_port, const std::atomic<bool>& cancelled);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_FETCHER_H_
