// International host names against the data of the WHATWG URL standard's own tests, of
// web-platform-tests (url/resources, BSD-3-Clause): toascii.json, and IdnaTestV2.json, which its
// tools make of the file of that name of Unicode (UTS #46).
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/url.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

// The host that a text names, as the standard writes it; "-" where it is refused.
std::string HostOf(const std::string& host) {
  const StatusOr<CanonicalUrl> url = Canonicalise("https://" + host + "/x");
  if (!url.ok()) return "-";
  constexpr size_t kScheme = 8;
  return url->text.substr(kScheme, url->text.find('/', kScheme) - kScheme);
}

// What the standard takes and docs/decisions/0002-canonical-urls.md refuses.
bool IsRefusedOnPurpose(const std::string& expected) {
  return expected.find_first_not_of('.') == std::string::npos || expected.size() > 253;
}

// Compares all of a file, and returns how much that was.
int Compare(const std::string& name) {
  std::ifstream file(std::string(FRESHET_SOURCE_DIR) + "/tests/url/" + name);
  const nlohmann::json all = nlohmann::json::parse(file, nullptr, false);
  int compared = 0;
  for (const nlohmann::json& test : all) {
    if (!test.is_object()) continue;
    const std::string input = test["input"].get<std::string>();
    // In a URL the host ends there; an empty one gives its place to what is behind it.
    if (input.empty() || input.find_first_of("/?#\\") != std::string::npos) continue;
    std::string expected = test["output"].is_null() ? "-" : test["output"].get<std::string>();
    if (IsRefusedOnPurpose(expected)) expected = "-";
    EXPECT_EQ(HostOf(input), expected) << test.dump(-1, ' ', true);
    ++compared;
  }
  return compared;
}

TEST(StandardsData, HostsAreThoseOfTheStandard) { EXPECT_GE(Compare("toascii.json"), 39); }

TEST(StandardsData, NamesAreThoseOfUnicode) { EXPECT_GE(Compare("IdnaTestV2.json"), 1900); }

// As docs/decisions/0002-canonical-urls.md says.
TEST(StandardsData, LabelsThatEncodeNothingAndUnassignedCharactersAreRefused) {
  for (const char* host :
       {"xn--", "xn--.example", "a.xn--", "xn--a", "xn--ascii-", "xn--a-.example", "xn--99999999",
        "\xCD\xB8.example", "xn--zva.example"}) {
    EXPECT_EQ(HostOf(host), "-") << host;
  }
}

}  // namespace
}  // namespace freshet
