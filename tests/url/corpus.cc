#include "tests/url/corpus.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "core/base/random.h"
#include "fmt/format.h"

namespace freshet {
namespace {

using Texts = std::vector<std::string_view>;

const Texts kStarts = {
    "http://",   "https://",    "HTTP://",  "hTtPs://",  "http:///",  "https:\\\\", "http:/\\/",
    " https://", "http:////",   "http:/",   "http:",     "https:\\",  "ftp://",     "file:///",
    "ws://",     "mailto:",     "//",       "",          "http",      "http//",     "ht tp://",
    "1http://",  "http+x://",   "http;//",  "\thttp://", "htt\tp://", "http://@",   "http://u@",
    "http://:@", "http://u:p@", "http:/@x", "https://@@"};

const Texts kHosts = {
    // Domain names.
    "x", "example.com", "EXAMPLE.Com", "www.example.com", "a.b.c.d.e.f", "under_score.example",
    "-a-.example", "ab--c.example", "a..b", ".a", "a.", "a..", ".", "..", "localhost", "4chan.org",
    "34.90.12.7.bc.googleusercontent.com", "1.2.3.4.a", "1.2.3.4x", "0x1g", "1.0xg", "1e3", "xn",
    "!$&'()*+,;=.example", "a~b", "a`b", "a{b}", "a\"b", "a<b", "a>b", "a^b", "a|b", "a b", "a%b",
    "a]b", "a[b", "a[::1]b", "a\\b", "a#b", "a?b", "a/b",
    // Hosts with escapes.
    "ex%61mple.com", "ex%41mple.com", "a%2Eb", "a%2eb", "a%2Fb", "a%00b", "a%20b", "a%3Ab", "a%40b",
    "a%25b", "a%2561", "a%c3%bcb", "a%C3%BCb", "a%ffb", "a%c3b", "%", "%2", "%zz", "%E3%80%82",
    "%31%32%37.0.0.1", "%5B::1%5D",
    // IPv4 addresses and similar texts.
    "1.2.3.4", "1.2.3.4.", "1.2.3.4..", "127.1", "127.0.1", "127.0.0.1", "0177.0.0.1", "0x7f.1",
    "0X7F000001", "2130706433", "4294967295", "4294967296", "99999999999999999999", "0", "00", "08",
    "0x", "0x.", "0x.0x.0x.0x", "0x.1.", "256.1.1.1", "1.256.1", "1.2.3.256", "1.2.65535",
    "1.2.65536", "1.16777215", "1.16777216", "1.2.3.4.5", "1..2", "1.2.3.", "1.2.3..", "a.1",
    "a.0x", "a.0x1.", "09.1", "1.09", "1.0x", "0x100.1", "0xffffffff", "0x100000000",
    "037777777777", "040000000000", "-1", "+1", "1.-2", "１２７.0.0.1", "127。1", "１.２.３.４",
    "0xＦ",
    // IPv6 addresses and similar texts.
    "[::]", "[::1]", "[1::]", "[2001:DB8::1]", "[2001:0db8:0:0:0:0:0:1]", "[0:0:0:0:0:0:0:0]",
    "[1:0:0:2:0:0:0:3]", "[0:0:1:0:0:1:0:0]", "[1:0:2:3:4:5:6:7]", "[1::2:3:4:5:6:7]",
    "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]",
    "[1:2:3:4:5:6:1.2.3.4]", "[::1.2.3.4]", "[1::1.2.3.4]", "[1:2::3:1.2.3.4]", "[00ff::0001]",
    "[]", "[:]", "[:1]", "[1:]", "[1]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]",
    "[1:2:3:4:5:6:7:8::]", "[::1:2:3:4:5:6:7:8]", "[1::2::3]", "[:::]", "[12345::]", "[g::]",
    "[::1%25eth0]", "[::1%eth0]", "[::1.2.3]", "[::1.2.3.4.5]", "[::1.2.3.256]", "[::01.2.3.4]",
    "[::1.2.3.4:1]", "[1:2:3:4:5:6:7:1.2.3.4]", "[::.1.2.3]", "[::1..2.3]", "[::1.2.3.]", "[[::1]]",
    "[::1", "::1]", "::1", "[::1]x", "[::1].", "x[::1]", "[%3A%3A1]", "[1.2.3.4]", "[::1 ]",
    // International names.
    "bücher.example", "BÜCHER.example", "bu\u0308cher.example", "faß.example", "faẞ.example",
    "xn--bcher-kva.example", "XN--Bcher-KVA.example", "xn--fa-hia.example", "💩.example",
    "☃.example", "日本語.jp", "日本語。ｊｐ", "пример.рф", "παράδειγμα.ς", "a\u200Db",
    "क\u094D\u200Dष", "\u200C", "\u00AD", "a\u00ADb", "\u0301a", "a\u0301", "\uFEFFa", "a\u3000b",
    "ＥＸ.ｃｏｍ", "ﬁ.example", "½.example", "℀.example", "K.example", "İ.example", "ıI.example",
    "\u2260.example", "a／b", "a％41", "a？b", "a：b", "\uFFFD", "a\u2028b", "\U000E0001"};

// These hosts are not combined with other parts, because Node accepts some of them that the
// standard refuses. Node does not check all rules of UTS #46 for labels with xn-- and for text
// directions.
const Texts kHostsAlone = {"אבג.example",      "אבa.example",
                           "مثال.إختبار",      "xn--",
                           "xn--.example",     "xn--a",
                           "a.xn--",           "axn--b",
                           "xn--zn7c.example", "xn--bücher.example",
                           "xn--xn---epa"};

const Texts kPorts = {"",
                      ":",
                      ":80",
                      ":443",
                      ":8080",
                      ":08080",
                      ":00080",
                      ":0443",
                      ":0",
                      ":00",
                      ":1",
                      ":65535",
                      ":65536",
                      ":99999999999999999999",
                      ":000000000000000000080",
                      ":8a",
                      ":-1",
                      ":+80",
                      ":80:80",
                      ": 80",
                      ":80 ",
                      ":%38%30",
                      ":8\t0"};

const Texts kPaths = {"",
                      "/",
                      "//",
                      "\\",
                      "/a",
                      "/a/",
                      "/a//b",
                      "/a\\b",
                      "\\a\\..\\b",
                      "/.",
                      "/..",
                      "/./",
                      "/../",
                      "/../x",
                      "/../../x/..",
                      "/a/..",
                      "/a/.",
                      "/a/./",
                      "/a/../",
                      "/a/b/../../c",
                      "/a/./b/../c",
                      "/...",
                      "/.a",
                      "/..a",
                      "/a.",
                      "/a..",
                      "/a/...",
                      "/%2e",
                      "/%2E/a",
                      "/%2e%2e",
                      "/a/%2e%2E/b",
                      "/a/.%2e",
                      "/a/%2e.",
                      "/a/%2e%2e%2e",
                      "/%2",
                      "/%2e%",
                      "/%252e",
                      "//..",
                      "//..//a",
                      "/a//../b",
                      "/a//..//",
                      "/group%2Fproj",
                      "/group%2fproj",
                      "/a%5Cb",
                      "/a%2Bb",
                      "/a+b",
                      "/%41",
                      "/%7Euser",
                      "/~user",
                      "/%c3%a9",
                      "/é",
                      "/日本/語",
                      "/💩",
                      "/\uFEFF\uFFFE\U0010FFFF",
                      "/%",
                      "/%%",
                      "/%zz",
                      "/100%",
                      "/a%20b",
                      "/a b",
                      "/ ",
                      "/a ",
                      "/\"<>`{}",
                      "/^|",
                      "/[]",
                      "/[[",
                      "/!$&'()*+,-.",
                      "/:;=@_~",
                      "/a:b@c",
                      "/;x=1",
                      "/a;b=c/d",
                      "/\u0080\u0085\u00A0",
                      "/\u2028",
                      "/C:/",
                      "/c|/x",
                      "/a/b;/../c",
                      "/x\ty",
                      "/x\x01y",
                      "/%00",
                      "/%0a",
                      "/http://b/",
                      "/a/b/c/d/e/../../../../../../f",
                      "/.../.%2e/..."};

const Texts kQueries = {"",
                        "?",
                        "??",
                        "?a",
                        "?a=b",
                        "?q=%26x",
                        "?q=a%2Bb",
                        "?q=a+b",
                        "?q=a b",
                        "?q='a'",
                        "?q=\"a\"",
                        "?a=%27",
                        "?next=https%3A%2F%2Fb.example%2F%3Fa%3Db%26c%23d",
                        "?next=https://b.example/?a=b",
                        "?<>",
                        "?`{}|^",
                        "?[]\\",
                        "?\\..\\",
                        "?/../x",
                        "?a=./..",
                        "?%",
                        "?%zz",
                        "?100%",
                        "?%2e%2E",
                        "?é",
                        "?%c3%a9",
                        "?日本",
                        "?💩",
                        "?\u0080",
                        "?a=1&amp;b=2",
                        "?a;b",
                        "?:@",
                        "?a?b",
                        "? ",
                        "?a ",
                        "?x\ty",
                        "?%00",
                        "?!$&()*+,;=~"};

const Texts kFragments = {"", "#", "#a", "#a?b", "##", "#é", "# ", "#/../", "#@"};

// Texts that mutations insert.
const Texts kInserted = {
    "%",    "%2", "%2e", "%2F", "%25", ".",      "..",     "/",      "\\",     "//",    ":",
    "@",    "[",  "]",   "#",   "?",   "&",      "=",      " ",      "\t",     "\r",    "\x01",
    "\x7F", "'",  "\"",  "<",   "`",   "{",      "^",      "|",      "~",      "0",     "1",
    "8",    "x",  "0x",  "a",   "Z",   "-",      "_",      "+",      "é",      "ß",     "я",
    "中",   "💩",  "。",  "．",  "／",  "\u00AD", "\u200D", "\u0301", "\uFF10", "\u3000"};

std::string_view Any(const Texts& texts, Random& random) {
  return texts[random.Below(texts.size())];
}
// Returns the first text in five of six calls, because most URLs have the usual form. Otherwise,
// returns any of the texts.
std::string_view Seldom(const Texts& texts, Random& random) {
  return random.Below(6) == 0 ? Any(texts, random) : texts[0];
}

std::string Ipv4Like(Random& random) {
  std::string host;
  const uint64_t parts = 1 + random.Below(5);
  for (uint64_t i = 0; i < parts; ++i) {
    const uint64_t number = random.Next() >> (24 + random.Below(40));
    if (i > 0) host += '.';
    switch (random.Below(4)) {
      case 0:
        fmt::format_to(std::back_inserter(host), "0x{:x}", number);
        break;
      case 1:
        fmt::format_to(std::back_inserter(host), "0{:o}", number);
        break;
      default:
        fmt::format_to(std::back_inserter(host), "{}", number >> (8 * random.Below(3)));
    }
  }
  return random.Below(4) == 0 ? host + "." : host;
}

std::string Ipv6Like(Random& random) {
  std::string host = "[";
  const uint64_t pieces = 1 + random.Below(9);
  for (uint64_t i = 0; i < pieces; ++i) {
    if (i > 0 || random.Below(8) == 0) host += random.Below(4) == 0 ? "::" : ":";
    const uint64_t piece = random.Below(2) == 0 ? 0 : random.Next() >> (48 + random.Below(16));
    fmt::format_to(std::back_inserter(host), "{:x}", piece);
  }
  if (random.Below(6) == 0) host += ":" + Ipv4Like(random);
  if (random.Below(6) == 0) host += "::";
  return host + "]";
}

std::string AnyHost(Random& random) {
  switch (random.Below(16)) {
    case 0:
      return Ipv4Like(random);
    case 1:
      return Ipv6Like(random);
    case 2: {
      const std::string_view second = Any(kHosts, random);
      const std::string_view first = Any(kHosts, random);
      return fmt::format("{}.{}", first, second);
    }
    case 3:
    case 4:
    case 5:
    case 6:
      return std::string(Any(kHosts, random));
    default:
      return "www.example.com";
  }
}

std::string AnyPath(Random& random) {
  std::string path;
  for (uint64_t pieces = random.Below(4); pieces > 0; --pieces) path += Any(kPaths, random);
  return path;
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Returns a random position between two characters.
size_t AnyPlace(const std::string& text, Random& random) {
  size_t at = random.Below(text.size() + 1);
  while (at < text.size() && IsContinuation(text[at])) ++at;
  return at;
}

void Mutate(std::string& text, Random& random) {
  const size_t a = AnyPlace(text, random);
  const size_t b = AnyPlace(text, random);
  const size_t first = std::min(a, b);
  const size_t length = std::min<size_t>(std::max(a, b) - first, 12);
  size_t end = first + length;
  while (end < text.size() && IsContinuation(text[end])) ++end;
  switch (random.Below(4)) {
    case 0:
      text.erase(first, end - first);
      break;
    case 1:
      text.insert(AnyPlace(text, random), std::string(text.substr(first, end - first)));
      break;
    default:
      text.insert(a, Any(kInserted, random));
  }
}

// Collects different texts, up to the size of the corpus. Thread-compatible.
class Collector {
 public:
  void Add(std::string text) {
    if (!full() && seen_.insert(text).second) texts_.push_back(std::move(text));
  }
  [[nodiscard]] bool full() const { return texts_.size() == kCorpusSize; }
  std::vector<std::string> Take() { return std::move(texts_); }

 private:
  absl::flat_hash_set<std::string> seen_;
  std::vector<std::string> texts_;
};

void AddPairs(Collector& collector) {
  for (const auto start : kStarts) {
    for (const auto host : kHosts) collector.Add(fmt::format("{}{}/", start, host));
  }
  for (const auto host : kHostsAlone) {
    for (const auto path : kPaths) collector.Add(fmt::format("http://{}:81{}", host, path));
  }
  for (const auto host : kHosts) {
    for (const auto port : kPorts) collector.Add(fmt::format("http://{}{}/a", host, port));
  }
  for (const auto path : kPaths) {
    for (const auto query : kQueries) collector.Add(fmt::format("https://x{}{}", path, query));
    for (const auto fragment : kFragments)
      collector.Add(fmt::format("http://x{}{}", path, fragment));
    for (const auto next : kPaths) collector.Add(fmt::format("https://x{}{}", path, next));
  }
}

}  // namespace

std::vector<std::string> UrlCorpus() {
  Collector collector;
  AddPairs(collector);
  Random random(20260816);
  while (!collector.full()) {
    // These are separate statements, because compilers evaluate arguments in different orders.
    const std::string_view fragment = Seldom(kFragments, random);
    const std::string_view query = Any(kQueries, random);
    const std::string path = AnyPath(random);
    const std::string_view port = Seldom(kPorts, random);
    const std::string host = AnyHost(random);
    const std::string_view start = Seldom(kStarts, random);
    std::string text = fmt::format("{}{}{}{}{}{}", start, host, port, path, query, fragment);
    for (uint64_t times = random.Below(3); times > 0; --times) Mutate(text, random);
    collector.Add(std::move(text));
  }
  return collector.Take();
}

}  // namespace freshet
