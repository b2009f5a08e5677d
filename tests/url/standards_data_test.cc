// Compares international host names with the test data of the WHATWG URL standard, from
// web-platform-tests (url/resources, BSD-3-Clause): toascii.json and IdnaTestV2.json. The latter
// was made there from Unicode's file of that name (UTS #46).
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/url.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

// Returns the host in the form of the standard; "-" = refused.
std::string HostOf(const std::string& host) {
  const StatusOr<CanonicalUrl> url = Canonicalise("https://" + host + "/x");
  if (!url.ok()) return "-";
  constexpr size_t kScheme = 8;
  return url->text.substr(kScheme, url->text.find('/', kScheme) - kScheme);
}

// Returns true for hosts that the standard accepts and docs/decisions/0002-canonical-urls.md
// refuses.
bool IsRefusedOnPurpose(const std::string& expected) {
  return expected.find_first_not_of('.') == std::string::npos || expected.size() > 253;
}

// Compares all hosts of a file and returns their number.
int Compare(const std::string& name) {
  std::ifstream file(std::string(FRESHET_SOURCE_DIR) + "/tests/url/" + name);
  const nlohmann::json all = nlohmann::json::parse(file, nullptr, false);
  int compared = 0;
  for (const nlohmann::json& test : all) {
    if (!test.is_object()) continue;
    const std::string input = test["input"].get<std::string>();
    // In a URL, these characters would end the host. If the host were empty, the text after it
    // would take its place.
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

// docs/decisions/0002-canonical-urls.md refuses these.
TEST(StandardsData, LabelsThatEncodeNothingAndUnassignedCharactersAreRefused) {
  for (const char* host :
       {"xn--", "xn--.example", "a.xn--", "xn--a", "xn--ascii-", "xn--a-.example", "xn--99999999",
        "\xCD\xB8.example", "xn--zva.example"}) {
    EXPECT_EQ(HostOf(host), "-") << host;
  }
}

}  // namespace
}  // namespace freshet
