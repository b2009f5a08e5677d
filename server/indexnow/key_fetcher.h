// Fetches the key file of a host. Strangers choose the host, so the fetch connects only to public
// addresses, follows no redirect, and reads only a limited number of bytes.
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
    kGood,  // the file holds the key
    // The file has another text or is missing, or the host has an address that is not public.
    kBad,
    kUnreachable,  // the file cannot be fetched now; the key can be good later
  };
  Outcome outcome = Outcome::kUnreachable;
  std::string why;  // reason if not good; has no text of the host's answer
};

// Looks up the host once, and connects only to one of the addresses found. All addresses must be
// public (core/base/public_address.h). HTTPS verifies the host's certificate with the system's
// certificate authorities. No redirect is followed. The status must be 200, and the body must be
// the key, with only white space around it and at most limits::kMaxKeyFileBytes. Takes at most
// `timeout` for the lookup, and the same time again for the fetch. Returns early if `cancelled`
// becomes true. `test_port`: see IndexNowConfig. Thread-safe.
[[nodiscard]] KeyFetch FetchKey(const KeyFile& file, const std::string& key, Duration timeout,
                                int test_port, const std::atomic<bool>& cancelled);

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_FETCHER_H_
