// Tests canonical URLs: any bytes are refused with a reason or have one canonical form. The
// canonical form is short plain ASCII, has the same host, has all required escapes and no others,
// and is the canonical form of itself.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/ascii.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"

namespace freshet {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Returns the part after host and port: from the first slash or question mark to the fragment.
std::string_view AfterAuthority(std::string_view url) {
  const size_t authority = url.find_first_not_of("/\\", url.find(':') + 1);
  if (authority == kNone) return {};
  const std::string_view rest = url.substr(authority, url.find('#') - authority);
  const size_t end = rest.find_first_of("/\\?");
  return end == kNone ? std::string_view() : rest.substr(end);
}

bool MayHaveDotSegments(std::string_view path) {
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.' || EscapedByte(path, i) == '.') return true;
  }
  return false;
}

// Expects that the canonical form has every character that was given, as it is or escaped, and no
// others.
void CheckEscapes(std::string_view given, std::string_view canonical, bool path) {
  size_t at = 0;
  for (char c : given) {
    if (path && c == '\\') c = '/';
    CHECK(at < canonical.size(), "'{}' is cut to '{}'", given, canonical);
    if (canonical[at] == c) {
      ++at;
      continue;
    }
    CHECK(c != '%' && EscapedByte(canonical, at) == c, "'{}' became '{}'", given, canonical);
    at += 3;
  }
  CHECK(at == canonical.size(), "'{}' has grown to '{}'", given, canonical);
}

void CheckPathAndQuery(std::string_view given, std::string_view canonical) {
  const size_t given_query = given.find('?');
  const size_t query = canonical.find('?');
  CHECK((given_query == kNone) == (query == kNone), "'{}' and '{}'", given, canonical);
  if (query != kNone) CheckEscapes(given.substr(given_query), canonical.substr(query), false);
  const std::string_view path = given.substr(0, given_query);
  if (path.empty() || MayHaveDotSegments(path)) return;
  CheckEscapes(path, canonical.substr(0, query), true);
}

void CheckCanonical(std::string_view given, const CanonicalUrl& url) {
  CHECK(url.text.size() <= limits::kMaxUrlBytes, "{} bytes", url.text.size());
  CHECK(!url.host.empty() && url.host.size() <= limits::kMaxHostBytes, "host '{}'", url.host);
  CHECK(url.host == HostOfCanonical(url.text), "'{}' and '{}'", url.host, url.text);
  for (const char c : url.text) CHECK(c > ' ' && c < 0x7F && c != '#', "'{}'", url.text);
  const StatusOr<CanonicalUrl> again = Canonicalise(url.text);
  CHECK(again.ok(), "'{}': {}", url.text, again.status().ToString());
  CHECK(again->text == url.text && again->host == url.host, "'{}': '{}'", url.text, again->text);
  while (given.ends_with(' ')) given.remove_suffix(1);
  CheckPathAndQuery(AfterAuthority(given), AfterAuthority(url.text));
}

}  // namespace
}  // namespace freshet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Tries the bytes in three ways: as they are, which is seldom a URL; as a host; and as a path
  // with a query.
  for (const std::string& text :
       {std::string(bytes), "http://" + std::string(bytes), "http://h/" + std::string(bytes)}) {
    const freshet::StatusOr<freshet::CanonicalUrl> url = freshet::Canonicalise(text);
    if (url.ok()) {
      freshet::CheckCanonical(text, *url);
    } else {
      CHECK(url.status().message().substr(0, 5) == "url: ", "{}", url.status().ToString());
    }
  }
  return 0;
}
