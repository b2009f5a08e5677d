// Tests that any bytes, as a configuration file, give a valid configuration or an error of one
// line.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/schedule/crawl_policy.h"
#include "server/base/host_port.h"
#include "server/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace freshet;  // NOLINT
  ServerConfig config;
  Status status = ApplyYaml(std::string_view(reinterpret_cast<const char*>(data), size), &config);
  if (status.ok()) status = Validate(config);
  if (!status.ok()) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK(!status.message().empty());
    return 0;
  }
  CHECK(config.shards >= 1 && config.max_http_connections >= 1);
  CHECK(std::isfinite(config.crawl_rate.per_second()));
  CHECK(config.default_lease.get() <= config.max_lease.get());
  CHECK(ResolvePolicy(config.policy, config.signal_delay).ok());
  CHECK(ParseHostPort(config.listen).ok() && ParseHostPort(config.http_listen).ok());
  return 0;
}
