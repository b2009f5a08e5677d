#include "tools/sitemap/text_decoder.h"

#include <unicode/ucnv.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "tools/cli/cells.h"

namespace freshet::sitemap {
namespace {

constexpr size_t kMaxNameBytes = 40;
constexpr size_t kUnits = 4096;
constexpr UChar32 kReplacement = 0xFFFD;

// The encodings that sites mean in practice by common names. They have more characters than the
// encodings for which the names formally stand (WHATWG Encoding).
constexpr std::array<std::pair<std::string_view, const char*>, 22> kMeant = {
    {{"iso-8859-1", "windows-1252"},
     {"iso8859-1", "windows-1252"},
     {"iso_8859-1", "windows-1252"},
     {"latin1", "windows-1252"},
     {"latin-1", "windows-1252"},
     {"l1", "windows-1252"},
     {"us-ascii", "windows-1252"},
     {"ascii", "windows-1252"},
     {"iso-8859-9", "windows-1254"},
     {"latin5", "windows-1254"},
     {"iso-8859-11", "windows-874"},
     {"tis-620", "windows-874"},
     {"gb2312", "gb18030"},
     {"gbk", "gb18030"},
     {"x-gbk", "gb18030"},
     {"euc-kr", "windows-949"},
     {"ks_c_5601-1987", "windows-949"},
     {"shift_jis", "windows-31j"},
     {"shift-jis", "windows-31j"},
     {"sjis", "windows-31j"},
     {"x-sjis", "windows-31j"},
     {"big5", "big5-hkscs"}}};

using Converter = std::unique_ptr<UConverter, decltype(&ucnv_close)>;

// Returns null if no encoding has this name.
Converter OpenConverter(std::string_view name) {
  std::string known = absl::AsciiStrToLower({name.data(), name.size()});
  const auto meant = std::find_if(kMeant.begin(), kMeant.end(),
                                  [&known](const auto& pair) { return pair.first == known; });
  if (meant != kMeant.end()) known = meant->second;
  // ICU would also accept paths and options as names, so the characters are limited.
  constexpr std::string_view kFits = "abcdefghijklmnopqrstuvwxyz0123456789-_.:";
  UErrorCode code = U_ZERO_ERROR;
  const bool fits = !known.empty() && known.size() <= kMaxNameBytes &&
                    known.find_first_not_of(kFits) == std::string::npos &&
                    ucnv_countAliases(known.c_str(), &code) > 0;
  if (!fits || U_FAILURE(code) != 0) return {nullptr, ucnv_close};
  Converter converter(ucnv_open(known.c_str(), &code), ucnv_close);
  if (U_FAILURE(code) != 0) return {nullptr, ucnv_close};
  return converter;
}

struct Mark {
  std::string_view bytes;
  const char* encoding;
};
// Longer marks come first, because the mark of UTF-32 begins like that of UTF-16. The last two
// match documents without a mark, which begin with '<'.
constexpr std::array<Mark, 7> kMarks = {{{{"\xFF\xFE\0\0", 4}, "utf-32le"},
                                         {{"\0\0\xFE\xFF", 4}, "utf-32be"},
                                         {"\xEF\xBB\xBF", "utf-8"},
                                         {"\xFF\xFE", "utf-16le"},
                                         {"\xFE\xFF", "utf-16be"},
                                         {{"<\0", 2}, "utf-16le"},
                                         {{"\0<", 2}, "utf-16be"}}};

// Returns the encoding named in an XML declaration at the beginning; empty = none.
std::string_view DeclaredEncoding(std::string_view head) {
  const size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || !head.substr(start).starts_with("<?xml")) return {};
  head = head.substr(start, head.find("?>", start) - start);
  constexpr std::string_view kName = "encoding";
  const size_t name = head.find(kName);
  if (name == std::string_view::npos) return {};
  const size_t quote = head.find_first_of("\"'", name + kName.size());
  if (quote == std::string_view::npos) return {};
  const size_t end = head.find(head[quote], quote + 1);
  if (end == std::string_view::npos) return {};
  return cli::Trimmed(head.substr(quote + 1, end - quote - 1));
}

bool IsWide(std::string_view name) {
  const std::string lower = absl::AsciiStrToLower({name.data(), name.size()});
  return lower.starts_with("utf-16") || lower.starts_with("utf-32") || lower.starts_with("utf16") ||
         lower.starts_with("utf32") || lower.find("ucs-") != std::string::npos;
}

Converter ConverterOf(std::string_view head, std::string_view charset) {
  for (const Mark& mark : kMarks) {
    if (head.starts_with(mark.bytes)) return OpenConverter(mark.encoding);
  }
  for (const std::string_view name : {DeclaredEncoding(head), charset}) {
    // If the declaration is readable, the document is not in a wide encoding, even if it names one.
    // Some programs declare the encoding that they use internally.
    if (IsWide(name)) continue;
    if (Converter converter = OpenConverter(name)) return converter;
  }
  return OpenConverter("utf-8");
}

// Returns how many bytes at the front are ASCII characters that XML allows. Checks eight at a time,
// because most of a document is such text.
size_t PlainBytes(std::string_view bytes) {
  constexpr uint64_t kHigh = 0x8080808080808080;
  constexpr uint64_t kBlanks = 0x2020202020202020;
  size_t size = 0;
  while (size < bytes.size()) {
    uint64_t word = 0;
    if (size + sizeof(word) <= bytes.size()) {
      std::memcpy(&word, bytes.data() + size, sizeof(word));
      // No byte is 0x80 or above, or below 0x20.
      if (((word | (((word | kHigh) - kBlanks) ^ kHigh)) & kHigh) == 0) {
        size += sizeof(word);
        continue;
      }
    }
    const auto c = static_cast<unsigned char>(bytes[size]);
    if (c >= 0x80 || (c < 0x20 && c != '\t' && c != '\n' && c != '\r')) break;
    ++size;
  }
  return size;
}

bool IsXmlCharacter(UChar32 c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0xD800) ||
         (c >= 0xE000 && c < 0xFFFE && c != kReplacement) || (c >= 0x10000 && c <= 0x10FFFF);
}

}  // namespace

struct TextDecoder::Impl {
  explicit Impl(std::string_view named) : charset(named) {}

  // Decodes all bytes in order. Buffers the first ones until their encoding is known.
  void Decode(std::string_view bytes, bool last, std::string* out) {
    if (converter == nullptr) {
      head.append(bytes);
      if (head.size() < kHeadBytes && !last) return;
      converter = ConverterOf(std::string_view(head).substr(0, kHeadBytes), charset);
      if (converter == nullptr) return;
      const std::string first = std::exchange(head, {});
      Convert(first, last, out);
    } else {
      Convert(bytes, last, out);
    }
  }

  // Copies plain ASCII in UTF-8 unchanged; ICU converts the rest, a little at a time.
  void Convert(std::string_view bytes, bool last, std::string* out) {
    constexpr size_t kLittle = 16;
    while (ucnv_getType(converter.get()) == UCNV_UTF8 && !bytes.empty()) {
      UErrorCode code = U_ZERO_ERROR;
      if (at == At::kText && lead == 0 && ucnv_toUCountPending(converter.get(), &code) == 0) {
        const size_t plain = PlainBytes(bytes);
        out->append(bytes, 0, plain);
        bytes.remove_prefix(plain);
      }
      const std::string_view some = bytes.substr(0, kLittle);
      bytes.remove_prefix(some.size());
      ConvertByIcu(some, false, out);
    }
    ConvertByIcu(bytes, last, out);
  }

  void ConvertByIcu(std::string_view bytes, bool last, std::string* out) {
    const char* source = bytes.data();
    const char* const end = source + bytes.size();
    UErrorCode code = U_BUFFER_OVERFLOW_ERROR;
    while (code == U_BUFFER_OVERFLOW_ERROR) {
      code = U_ZERO_ERROR;
      UChar* target = units.data();
      const char* const before = source;
      ucnv_toUnicode(converter.get(), &target, units.data() + units.size(), &source, end, nullptr,
                     static_cast<UBool>(last), &code);
      for (const UChar* unit = units.data(); unit < target; ++unit) TakeUnit(*unit, out);
      // ICU failed internally here, so one byte is skipped.
      if (U_FAILURE(code) != 0 && code != U_BUFFER_OVERFLOW_ERROR) {
        ucnv_resetToUnicode(converter.get());
        if (source == before && source < end) ++source;
        Take(kReplacement, out);
        code = source < end ? U_BUFFER_OVERFLOW_ERROR : U_ZERO_ERROR;
      }
    }
    if (last && lead != 0) Take(kReplacement, out);
    if (last && !opening.empty()) out->append(std::exchange(opening, {}));
  }

  void TakeUnit(UChar unit, std::string* out) {
    if (U16_IS_TRAIL(unit) && lead != 0) {
      Take(U16_GET_SUPPLEMENTARY(lead, unit), out);
      lead = 0;
      return;
    }
    if (lead != 0) Take(kReplacement, out);
    lead = U16_IS_LEAD(unit) ? unit : 0;
    if (lead == 0) Take(U16_IS_TRAIL(unit) ? kReplacement : UChar32{unit}, out);
  }

  void Take(UChar32 c, std::string* out) {
    if (at == At::kStart) {
      if (c == 0xFEFF || c == ' ' || c == '\t' || c == '\n' || c == '\r') return;
      at = At::kOpening;
    }
    if (!IsXmlCharacter(c)) {
      ++replaced;
      c = kReplacement;
    }
    char bytes[U8_MAX_LENGTH];
    int32_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, c);
    const std::string_view text(bytes, static_cast<size_t>(size));
    if (at == At::kText) {
      out->append(text);
    } else {
      Open(text, out);
    }
  }

  // Buffers text that could be an XML declaration until it is clear whether the text is one.
  void Open(std::string_view text, std::string* out) {
    constexpr std::string_view kDeclaration = "<?xml";
    opening.append(text);
    const size_t known = std::min(opening.size(), kDeclaration.size());
    bool declaration = opening.compare(0, known, kDeclaration, 0, known) == 0;
    if (opening.size() > kDeclaration.size()) {
      declaration = declaration &&
                    absl::ascii_isspace(static_cast<unsigned char>(opening[kDeclaration.size()]));
    }
    if (declaration && opening.ends_with("?>")) {
      opening.clear();
      at = At::kStart;
      // A second declaration is dropped, too, because the parser would refuse it.
      return;
    }
    if (declaration && opening.size() < kHeadBytes) return;
    at = At::kText;
    out->append(std::exchange(opening, {}));
  }

  enum class At { kStart, kOpening, kText };

  const std::string charset;
  std::string head;
  Converter converter{nullptr, ucnv_close};
  std::array<UChar, kUnits> units{};
  UChar lead = 0;
  At at = At::kStart;
  std::string opening;
  uint64_t replaced = 0;
};

TextDecoder::TextDecoder(std::string_view charset) : impl_(std::make_unique<Impl>(charset)) {}
TextDecoder::~TextDecoder() = default;

void TextDecoder::Decode(std::string_view bytes, bool last, std::string* out) {
  impl_->Decode(bytes, last, out);
}

uint64_t TextDecoder::replaced() const { return impl_->replaced; }

}  // namespace freshet::sitemap
