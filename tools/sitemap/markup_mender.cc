#include "tools/sitemap/markup_mender.h"

#include <fmt/format.h>
#include <libxml/HTMLparser.h>
#include <libxml/tree.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"

namespace freshet::sitemap {
namespace {

// The maximum length of a reference; no name in HTML is longer.
constexpr size_t kMaxReferenceBytes = 32;
constexpr std::string_view kCdataEnd = "]]>";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }
// XML has a few more rules for names, which libxml2 checks.
bool BeginsName(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Returns the position of the first character from `begin` on that TakeText handles; the end of the
// text if there is none.
size_t EndOfPlain(std::string_view text, size_t begin) {
  static constexpr auto kSpecial = [] {
    std::array<bool, 256> special{};
    for (const char c : {'<', '&', '>'}) special[static_cast<unsigned char>(c)] = true;
    return special;
  }();
  const char* at = text.data() + begin;
  const char* const end = text.data() + text.size();
  while (at != end && !kSpecial[static_cast<unsigned char>(*at)]) ++at;
  return static_cast<size_t>(at - text.data());
}

const xmlChar* XmlText(const std::string& text) {
  return reinterpret_cast<const xmlChar*>(text.c_str());
}

// Returns the character of a named HTML reference; 0 = unknown. Libxml2's own function searches all
// names in each call.
uint32_t CharacterOf(std::string_view name) {
  static const auto* const kCharacters = [] {
    constexpr unsigned kLast = 0x2666;  // diams
    auto* const characters = new std::unordered_map<std::string_view, uint32_t>;
    for (unsigned value = 1; value <= kLast; ++value) {
      if (const htmlEntityDesc* entity = htmlEntityValueLookup(value)) {
        characters->emplace(entity->name, value);
      }
    }
    return characters;
  }();
  const auto found = kCharacters->find(name);
  return found == kCharacters->end() ? 0 : found->second;
}

bool IsName(const std::string& text) { return xmlValidateQName(XmlText(text), 0) == 0; }

void AppendCharacter(uint32_t character, std::string* out) {
  char bytes[U8_MAX_LENGTH];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, character);
  out->append(bytes, static_cast<size_t>(size));
}

bool MayBeReferred(uint32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0xD800) ||
         (c >= 0xE000 && c < 0xFFFE) || (c >= 0x10000 && c <= 0x10FFFF);
}

// Parses #160 or #xA0. Returns false if the text is not such a number.
bool NumberOf(std::string_view text, uint32_t* number) {
  text.remove_prefix(1);
  const bool hexadecimal = text.starts_with('x');
  if (hexadecimal) text.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument) {
    return false;
  }
  *number = error == std::errc() && value <= 0x10FFFF ? static_cast<uint32_t>(value) : 0xFFFF;
  return true;
}

// Removes and returns the longest front part of `text` without any of these characters.
std::string_view TakeUntil(std::string_view any, std::string_view* text) {
  const std::string_view taken = text->substr(0, text->find_first_of(any));
  text->remove_prefix(taken.size());
  return taken;
}

constexpr std::string_view kBlanks = " \t\r\n";

void SkipBlanks(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(kBlanks), text->size()));
}

}  // namespace

absl::Status MarkupMender::Mend(std::string_view text, bool last, std::string* out) {
  for (size_t i = 0; i < text.size() && fault_.empty(); ++i) {
    if (state_ == State::kText) {
      // Copies most of a document in large pieces, and reads each byte only once. Separate searches
      // for each character would read the rest of the text again and again.
      const size_t end = EndOfPlain(text, i);
      out->append(text, i, end - i);
      i = end;
      if (i == text.size()) break;
    }
    Take(text[i], out);
  }
  if (last && fault_.empty() && state_ == State::kReference) AppendReference(held_, out);
  if (last && fault_.empty() && state_ == State::kCdata) out->append(kCdataEnd);
  return fault_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(fault_);
}

void MarkupMender::Take(char c, std::string* out) {
  if (state_ == State::kText || state_ == State::kCdata) {
    token_bytes_ = 0;
  } else if (++token_bytes_ > kMaxFeedTokenBytes) {
    Refuse(fmt::format("the document is not XML, or has a tag or comment of more than {} KiB",
                       kMaxFeedTokenBytes >> 10));
    return;
  }
  switch (state_) {
    case State::kText:
      return TakeText(c, out);
    case State::kReference:
      return TakeReference(c, out);
    case State::kLess:
      return TakeLess(c, out);
    case State::kMarkup:
      return TakeMarkup(c, out);
    case State::kTag:
      return TakeTag(c, out);
    case State::kDoctype:
      return TakeDoctype(c);
    case State::kCdata:
      out->push_back(c);
      if (EndsWith(kCdataEnd, c)) state_ = State::kText;
      return;
    case State::kPassedOver:
      if (EndsWith(end_, c)) state_ = State::kText;
  }
}

// The ends are ?>, --> and ]]>. An end can overlap with its own beginning, as in --->.
bool MarkupMender::EndsWith(std::string_view end, char c) {
  if (c == end[matched_]) {
    ++matched_;
  } else if (matched_ != 2 || c != end[1]) {
    matched_ = c == end[0] ? 1 : 0;
  }
  return matched_ == end.size();
}

void MarkupMender::TakeText(char c, std::string* out) {
  if (c == '&') {
    state_ = State::kReference;
    held_ = "&";
  } else if (c == '<') {
    state_ = State::kLess;
  } else if (c == '>') {
    out->append("&gt;");
  } else {
    out->push_back(c);
  }
}

void MarkupMender::TakeReference(char c, std::string* out) {
  const bool more =
      (IsAlnum(c) || (c == '#' && held_.size() == 1)) && held_.size() <= kMaxReferenceBytes;
  if (more || c == ';') held_.push_back(c);
  if (more) return;
  state_ = State::kText;
  AppendReference(std::exchange(held_, {}), out);
  if (c != ';') Take(c, out);
}

void MarkupMender::AppendReference(std::string_view reference, std::string* out) {
  uint32_t number = 0;
  if (reference.ends_with(';')) {
    const std::string_view name = reference.substr(1, reference.size() - 2);
    if (name.starts_with('#')) {
      if (NumberOf(name, &number) && !MayBeReferred(number)) number = 0xFFFD;
      if (number != 0 && number != 0xFFFD) {
        out->append(reference);
        return;
      }
    } else {
      number = CharacterOf(name);
    }
    // XML defines these references itself.
    if (number == '&' || number == '<' || number == '>' || number == '"' || name == "apos") {
      out->append(reference);
      return;
    }
  }
  Count();
  if (number != 0) return AppendCharacter(number, out);
  out->append("&amp;").append(reference.substr(1));
}

void MarkupMender::TakeLess(char c, std::string* out) {
  before_ = 0;
  quote_ = 0;
  matched_ = 0;
  held_ = {'<', c};
  if (c == '!') {
    state_ = State::kMarkup;
  } else if (c == '?') {
    end_ = "?>";
    state_ = State::kPassedOver;
  } else if (BeginsName(c) || c == '/') {
    state_ = State::kTag;
  } else {
    Count();
    out->append("&lt;");
    state_ = State::kText;
    Take(c, out);
  }
}

// Handles text that begins with <!, which is a comment, CDATA, a document type, or a fault.
void MarkupMender::TakeMarkup(char c, std::string* out) {
  held_.push_back(absl::ascii_toupper(static_cast<unsigned char>(c)));
  if (held_ == "<!--") {
    end_ = "-->";
    state_ = State::kPassedOver;
  } else if (held_ == "<![CDATA[") {
    out->append(held_);
    state_ = State::kCdata;
  } else if (held_ == "<!DOCTYPE") {
    brackets_ = 0;
    state_ = State::kDoctype;
  } else {
    for (const std::string_view beginning : {"<!--", "<![CDATA[", "<!DOCTYPE"}) {
      if (beginning.starts_with(held_)) return;
    }
    // Example: <![if IE]> of HTML.
    Count();
    end_ = ">";
    state_ = c == '>' ? State::kText : State::kPassedOver;
  }
}

void MarkupMender::TakeTag(char c, std::string* out) {
  if (quote_ == 0 && (c == '>' || c == '<')) {
    AppendTag(out);
    // An unclosed tag ends where the next one begins.
    if (c == '<') Count();
    state_ = c == '>' ? State::kText : State::kLess;
    return;
  }
  held_.push_back(c);
  if (quote_ != 0) {
    if (c == quote_) quote_ = 0;
  } else if ((c == '"' || c == '\'') && before_ == '=') {
    quote_ = c;
  }
  if (!IsBlank(c)) before_ = c;
}

void MarkupMender::AppendTag(std::string* out) {
  std::string_view rest = std::string_view(held_).substr(1);
  if (rest.starts_with('/')) {
    rest.remove_prefix(1);
    return Close(TakeUntil(kBlanks, &rest), out);
  }
  std::string name(TakeUntil(" \t\r\n/", &rest));
  if (!IsName(name)) {
    Count();
    out->append("&lt;");
    AppendValue(std::string_view(held_).substr(1), out);
    out->append("&gt;");
    return;
  }
  CountName(name);
  out->append("<").append(name);
  AppendAttributes(rest, out);
  if (before_ == '/') {
    out->append("/>");
    ended_ |= open_.empty();
    return;
  }
  out->push_back('>');
  open_.push_back(std::move(name));
  if (open_.size() > kMaxFeedDepth) {
    Refuse(fmt::format("the elements of the document are nested more than {} deep", kMaxFeedDepth));
  }
}

void MarkupMender::AppendAttributes(std::string_view rest, std::string* out) {
  std::vector<std::string> names;
  size_t count = 0;
  for (SkipBlanks(&rest); !rest.empty(); SkipBlanks(&rest)) {
    if (rest.front() == '/' || rest.front() == '=') {
      rest.remove_prefix(1);
      continue;
    }
    if (++count > kMaxFeedAttributes) {
      Refuse(
          fmt::format("the document has a tag with more than {} attributes", kMaxFeedAttributes));
      return;
    }
    std::string name(TakeUntil(" \t\r\n=/", &rest));
    SkipBlanks(&rest);
    const bool has_value = rest.starts_with('=');
    std::string_view value;
    if (has_value) {
      rest.remove_prefix(1);
      SkipBlanks(&rest);
      const char quote = rest.empty() ? '\0' : rest.front();
      const bool quoted = quote == '"' || quote == '\'';
      if (quoted) rest.remove_prefix(1);
      value = TakeUntil(quoted ? std::string_view(&quote, 1) : kBlanks, &rest);
      if (quoted && !rest.empty()) rest.remove_prefix(1);
      if (!quoted) Count();
    }
    if (!has_value || !IsName(name) || std::find(names.begin(), names.end(), name) != names.end()) {
      Count();
      continue;
    }
    CountName(name);
    if (name == "xmlns" || name.starts_with("xmlns:")) CountName(value);
    out->append(" ").append(name).append("=\"");
    AppendValue(value, out);
    out->push_back('"');
    names.push_back(std::move(name));
  }
}

void MarkupMender::CountName(std::string_view name) {
  if (names_.contains(name)) return;
  names_.emplace(name);
  if (names_.size() > kMaxFeedNames) {
    Refuse(fmt::format("the document has more than {} different names of tags", kMaxFeedNames));
  }
}

void MarkupMender::AppendValue(std::string_view value, std::string* out) {
  while (!value.empty()) {
    out->append(TakeUntil("&<>\"", &value));
    if (value.empty()) return;
    if (value.front() != '&') {
      out->append(value.front() == '<' ? "&lt;" : value.front() == '>' ? "&gt;" : "&quot;");
      if (value.front() == '<') Count();
      value.remove_prefix(1);
      continue;
    }
    size_t size = 1;
    while (size < value.size() && size <= kMaxReferenceBytes &&
           (IsAlnum(value[size]) || (value[size] == '#' && size == 1))) {
      ++size;
    }
    if (size < value.size() && value[size] == ';') ++size;
    AppendReference(value.substr(0, size), out);
    value.remove_prefix(size);
  }
}

void MarkupMender::Close(std::string_view name, std::string* out) {
  const auto found = std::find(open_.rbegin(), open_.rend(), name);
  if (found == open_.rend()) {
    Count();
    return;
  }
  const auto depth = static_cast<size_t>(open_.rend() - found);
  Count(open_.size() - depth);
  for (; open_.size() >= depth; open_.pop_back()) {
    out->append("</").append(open_.back()).push_back('>');
  }
  ended_ |= open_.empty();
}

void MarkupMender::TakeDoctype(char c) {
  constexpr std::string_view kEntity = "<!ENTITY";
  matched_ = c == kEntity[matched_] ? matched_ + 1 : (c == '<' ? 1 : 0);
  if (matched_ == kEntity.size()) {
    matched_ = 0;
    Refuse("the document declares XML entities, which are not allowed here");
    return;
  }
  if (quote_ != 0) {
    if (c == quote_) quote_ = 0;
  } else if (c == '"' || c == '\'') {
    quote_ = c;
  } else if (c == '[' || c == ']') {
    brackets_ += c == '[' ? 1 : -1;
  } else if (c == '>' && brackets_ <= 0) {
    state_ = State::kText;
  }
}

}  // namespace freshet::sitemap
