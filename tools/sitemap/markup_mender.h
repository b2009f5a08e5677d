// Mends faults that make a feed invalid XML, and limits the work of its parser.
#ifndef FRESHET_TOOLS_SITEMAP_MARKUP_MENDER_H_
#define FRESHET_TOOLS_SITEMAP_MARKUP_MENDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace freshet::sitemap {

// The maximum size in bytes of a comment, a tag and similar.
inline constexpr size_t kMaxFeedTokenBytes = 512 << 10;
// The maximum number of attributes of one tag, because a parser compares each with all others.
inline constexpr size_t kMaxFeedAttributes = 256;
inline constexpr size_t kMaxFeedDepth = 64;
// The maximum number of distinct names of elements, attributes and namespaces. The parser's hash
// table stops growing at some thousands of names. Beyond that, a lookup takes time in proportion to
// their number.
inline constexpr size_t kMaxFeedNames = 10'000;

// Mends clean UTF-8 in pieces of any length. The output is well-formed, except for elements that
// are open at the end of the text:
// - a bare & becomes &amp;, a named HTML reference becomes its character, a reference to no XML
//   character becomes U+FFFD, and a < that begins no tag becomes &lt;
// - values of attributes are quoted; attributes without a value or a name, and repeated ones, are
//   left out
// - an end tag closes all open elements inside its own; an end tag without a start tag is left out.
// Comments, processing instructions and the document type are left out: the parser's user does not
// need them, and without a document type a parser declares and expands nothing. CDATA stays
// unchanged. Thread-compatible.
class MarkupMender {
 public:
  // Appends to `out` the part of the mended text that is final; with `last`, all of it.
  // InvalidArgument, with the reason: a token is too long, a tag has too many attributes, elements
  // are nested too deeply, there are too many names, or the document type declares entities. All
  // later calls return the same error.
  [[nodiscard]] absl::Status Mend(std::string_view text, bool last, std::string* out);
  [[nodiscard]] uint64_t mended() const { return mended_; }

 private:
  enum class State { kText, kReference, kLess, kMarkup, kTag, kPassedOver, kCdata, kDoctype };

  void Take(char c, std::string* out);
  void TakeText(char c, std::string* out);
  void TakeReference(char c, std::string* out);
  void TakeLess(char c, std::string* out);
  void TakeMarkup(char c, std::string* out);
  void TakeTag(char c, std::string* out);
  void TakeDoctype(char c);
  [[nodiscard]] bool EndsWith(std::string_view end, char c);
  // Mends a reference, which begins with & and may end with a semicolon.
  void AppendReference(std::string_view reference, std::string* out);
  void AppendValue(std::string_view value, std::string* out);
  void AppendAttributes(std::string_view rest, std::string* out);
  void CountName(std::string_view name);
  // Counts faults up to the end of the root element. A parser ignores later text, and the part of
  // it that arrives here depends on the pieces.
  void Count(uint64_t faults = 1) { mended_ += ended_ ? 0 : faults; }
  void Refuse(std::string why) {
    if (!ended_) fault_ = std::move(why);
  }
  // Mends <name ...> and </name>.
  void AppendTag(std::string* out);
  void Close(std::string_view name, std::string* out);

  State state_ = State::kText;
  std::string held_;      // text from a & or < on that is not yet complete
  char quote_ = 0;        // open quote of a value or document type; 0 = none
  char before_ = 0;       // last character of the tag except white space
  std::string_view end_;  // the text that ends the skipped part
  size_t matched_ = 0;    // matched characters of `end_`, or of an entity declaration
  int brackets_ = 0;      // open brackets of a document type
  size_t token_bytes_ = 0;
  std::vector<std::string> open_;  // names of the open elements
  std::set<std::string, std::less<>> names_;
  uint64_t mended_ = 0;
  bool ended_ = false;  // the root element has ended
  std::string fault_;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_MARKUP_MENDER_H_
