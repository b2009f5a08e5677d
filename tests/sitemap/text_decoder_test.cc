#include "tools/sitemap/text_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace freshet::sitemap {
namespace {

using std::string_literals::operator""s;

struct Decoded {
  std::string text;
  uint64_t replaced = 0;
};

Decoded Decode(std::string_view bytes, std::string_view charset = {}, size_t piece = 3) {
  TextDecoder decoder(charset);
  Decoded decoded;
  for (size_t i = 0; i < bytes.size(); i += piece) {
    decoder.Decode(bytes.substr(i, piece), false, &decoded.text);
  }
  decoder.Decode("", true, &decoded.text);
  decoded.replaced = decoder.replaced();
  return decoded;
}

std::string Declared(const std::string& encoding, const std::string& bytes) {
  return "<?xml version='1.0' encoding=\"" + encoding + "\"?><a>" + bytes + "</a>";
}

// The encodings used by sites, with one non-ASCII character each.
TEST(TextDecoder, ReadsTheEncodingsOfSites) {
  struct Case {
    const char* encoding;
    std::string bytes;
    const char* text;
  };
  for (const Case& one : std::vector<Case>{{"windows-1250", "\x9e", "\u017e"},
                                           {"windows-1251", "\xc6", "\u0416"},
                                           {"windows-1252", "\x80", "\u20ac"},
                                           {"Windows-1253", "\xe1", "\u03b1"},
                                           {"windows-1254", "\xfe", "\u015f"},
                                           {"windows-1255", "\xe0", "\u05d0"},
                                           {"windows-1256", "\xc8", "\u0628"},
                                           {"windows-1257", "\xe0", "\u0105"},
                                           {"windows-1258", "\xfe", "\u20ab"},
                                           {"iso-8859-1", "\xe9\x80", "\u00e9\u20ac"},
                                           {"ISO-8859-2", "\xb1", "\u0105"},
                                           {"iso-8859-5", "\xb6", "\u0416"},
                                           {"iso-8859-7", "\xe1", "\u03b1"},
                                           {"ISO-8859-9", "\xfe", "\u015f"},
                                           {"iso-8859-15", "\xa4", "\u20ac"},
                                           {"KOI8-R", "\xf6", "\u0416"},
                                           {"koi8-u", "\xf6", "\u0416"},
                                           {"GBK", "\xd6\xd0", "\u4e2d"},
                                           {"gb2312", "\xd6\xd0", "\u4e2d"},
                                           {"gb18030", "\x81\x30\x81\x30", "\u0080"},
                                           {"Big5", "\xa4\xa4", "\u4e2d"},
                                           {"EUC-KR", "\xc7\xd1", "\ud55c"},
                                           {"EUC-JP", "\xc6\xfc", "\u65e5"},
                                           {"Shift_JIS", "\x93\xfa", "\u65e5"},
                                           {"utf8", "\xc3\xa9", "\u00e9"},
                                           {"UTF-8", "\xf0\x9f\x8c\x8a", "\U0001F30A"},
                                           {"utf-16", "\xc3\xa9", "\u00e9"},
                                           {"nonsense", "\xc3\xa9", "\u00e9"},
                                           {"../../etc/passwd", "\xc3\xa9", "\u00e9"}}) {
    const Decoded decoded = Decode(Declared(one.encoding, one.bytes));
    EXPECT_EQ(decoded.text, "<a>" + std::string(one.text) + "</a>") << one.encoding;
    EXPECT_EQ(decoded.replaced, 0U) << one.encoding;
  }
}

TEST(TextDecoder, MarksComeBeforeNamesAndTheseBeforeHttp) {
  EXPECT_EQ(Decode("\xEF\xBB\xBF" + Declared("windows-1251", "\xc3\xa9")).text, "<a>\u00e9</a>");
  EXPECT_EQ(Decode(Declared("windows-1251", "\xc6"), "koi8-r").text, "<a>\u0416</a>");
  EXPECT_EQ(Decode("<a>\xf6</a>", "koi8-r").text, "<a>\u0416</a>");
  EXPECT_EQ(Decode("\xFF\xFE<\0a\0>\0\x3D\xD8\x0A\xDF"s, "", 1).text, "<a>\U0001F70A"s)
      << "two units of UTF-16 are one character, however they are cut";
  EXPECT_EQ(Decode("\0<\0a\0>"s).text, "<a>");
  EXPECT_EQ(Decode("<\0a\0>\0"s).text, "<a>");
}

TEST(TextDecoder, WhatIsNoCharacterOfXmlIsReplacedAndCounted) {
  EXPECT_EQ(Decode("a\xff"
                   "b")
                .text,
            "a\uFFFDb");
  EXPECT_EQ(Decode("a\xff"
                   "b")
                .replaced,
            1U);
  EXPECT_EQ(Decode("a\0b\x08"
                   "c\x7f\td"s)
                .text,
            "a\uFFFDb\uFFFDc\x7f\td");
  EXPECT_EQ(Decode("a\xc3").text, "a\uFFFD") << "cut off";
  EXPECT_EQ(Decode("a\xed\xa0\x80").replaced, 3U) << "half a pair of UTF-16";
  EXPECT_EQ(Decode("a\xef\xbf\xbf").text, "a\uFFFD");
}

TEST(TextDecoder, WhatComesBeforeTheTextIsLeftOut) {
  EXPECT_EQ(Decode(" \n\xEF\xBB\xBF\t<?xml version='1.0'?>\n <a/>").text, "<a/>");
  EXPECT_EQ(Decode("<?xmlish?>").text, "<?xmlish?>");
  EXPECT_EQ(Decode("<?xml").text, "<?xml");
  EXPECT_EQ(Decode(" \n").text, "");
}

}  // namespace
}  // namespace freshet::sitemap
