#include "server/indexnow/key_fetcher.h"

#include <string_view>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/public_address.h"
#include "fmt/format.h"
#include "server/indexnow/key_request.h"
#include "server/indexnow/name_lookup.h"

namespace freshet {
namespace {

using Outcome = KeyFetch::Outcome;

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

KeyFetch Judge(const SmallFile& file, const std::string& key) {
  if (!file.failure.empty()) {
    return {Outcome::kUnreachable, fmt::format("the key file cannot be fetched: {}", file.failure)};
  }
  if (file.status >= 300 && file.status < 400) {
    return {Outcome::kBad, "the key file is somewhere else, and redirects are not followed"};
  }
  if (file.status >= 500 || file.status == 429) {
    return {Outcome::kUnreachable, fmt::format("the host answers {}", file.status)};
  }
  if (file.status != 200) {
    return {Outcome::kBad, fmt::format("the host answers {} for the key file", file.status)};
  }
  if (file.too_large) return {Outcome::kBad, "the key file is too large"};
  std::string_view body = file.body;
  // Some editors write a byte order mark here.
  if (body.starts_with("\xef\xbb\xbf")) body.remove_prefix(3);
  if (Trimmed(body) != key) return {Outcome::kBad, "the key file holds another text"};
  return {Outcome::kGood, ""};
}

}  // namespace

KeyFetch FetchKey(const KeyFile& file, const std::string& key, Duration timeout, int test_port,
                  const std::atomic<bool>& cancelled) {
  if (file.host.front() == '[') return {Outcome::kBad, "the host is an address"};
  const bool test = test_port != 0;
  const std::vector<std::string> addresses =
      test ? std::vector<std::string>{"127.0.0.1"} : LookUp(file.host, timeout, cancelled);
  if (addresses.empty()) return {Outcome::kUnreachable, "the host's name cannot be looked up"};
  for (const std::string& text : addresses) {
    const auto address = ParseIpAddress(text);
    if (!test && (!address || !IsPublicAddress(*address))) {
      return {Outcome::kBad, "the host has an address that is not public"};
    }
  }
  const bool https = file.https && !test;
  const int port = test ? test_port : https ? 443 : 80;
  const SmallFileRequest request = {.https = https,
                                    .host = file.host,
                                    .path = file.path,
                                    .addresses = addresses,
                                    .port = static_cast<uint16_t>(port)};
  return Judge(FetchSmallFile(request, timeout, cancelled), key);
}

}  // namespace freshet
