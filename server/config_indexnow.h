// The section `indexnow` of a configuration: who may report changed pages over HTTP, and how the
// reports are checked (docs/operations.md).
#ifndef FRESHET_SERVER_CONFIG_INDEXNOW_H_
#define FRESHET_SERVER_CONFIG_INDEXNOW_H_

#include <cstddef>
#include <string>

#include "core/base/units.h"
#include "server/base/limits.h"
#include "server/base/live.h"

namespace freshet {

// The settings of the section. Value type, thread-compatible.
struct IndexNowConfig {
  bool enabled = false;
  bool verify_keys = true;                        // fetch the key file of the host to verify a key
  Live<bool> create_pages = false;                // create pages for unknown URLs
  std::string crawl_id;                           // crawl id of created pages; empty = the default
  Live<int> max_urls = limits::kMaxIndexNowUrls;  // in one request
  size_t max_body_bytes = size_t{1} << 20;
  Live<Duration> key_lifetime = Duration::Days(1);  // how long a valid or invalid key is remembered
  Live<Duration> retry_interval =
      Duration::Seconds(60);                           // pause after a failed fetch of a key file
  Live<Duration> key_timeout = Duration::Seconds(10);  // for one whole fetch

  // Only for tests, so no key of the configuration file sets this port. Key files are then fetched
  // over HTTP from this port of this machine, with the host's name in the request. 0 = off.
  int test_key_port = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_INDEXNOW_H_
