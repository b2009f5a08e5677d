// The section `indexnow` of a configuration: who may tell of changed pages over HTTP, and how that
// is believed (docs/operations.md).
#ifndef FRESHET_SERVER_CONFIG_INDEXNOW_H_
#define FRESHET_SERVER_CONFIG_INDEXNOW_H_

#include <cstddef>
#include <string>

#include "core/base/units.h"
#include "server/base/limits.h"
#include "server/base/live.h"

namespace freshet {

// Value type, thread-compatible.
struct IndexNowConfig {
  bool enabled = false;
  bool verify_keys = true;          // by fetching the file of the host that holds the key
  Live<bool> create_pages = false;  // of URLs that are not known
  std::string crawl_id;             // that the pages have; empty: the default
  Live<int> max_urls = limits::kMaxIndexNowUrls;  // of one request
  size_t max_body_bytes = size_t{1} << 20;
  Live<Duration> key_lifetime = Duration::Days(1);  // of a key that was found good, or bad
  Live<Duration> retry_interval =
      Duration::Seconds(60);                           // after a key file that could not be fetched
  Live<Duration> key_timeout = Duration::Seconds(10);  // of one fetch as a whole

  // Only for tests, no key of the file sets it: key files are fetched over HTTP from this port of
  // this machine, under the name of their host. 0: not so.
  int test_key_port = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_INDEXNOW_H_
