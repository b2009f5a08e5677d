// Mends what keeps a feed from being XML, and bounds what a parser has to look at.
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

// Of a comment, a tag and the like.
inline constexpr size_t kMaxFeedTokenBytes = 512 << 10;
// Parsers compare each attribute of a tag with all others.
inline constexpr size_t kMaxFeedAttributes = 256;
inline constexpr size_t kMaxFeedDepth = 64;
// Different names of elements, attributes and namespaces. The parser keeps each of them, and its
// table of them does not grow beyond some thousands: looking one up then takes as long as there
// are.
inline constexpr size_t kMaxFeedNames = 10'000;

// Takes clean UTF-8 piece by piece; how it is cut does not matter. What comes out is well-formed
// but for elements that the end of the text leaves open:
// - a bare & is &amp;, a reference by a name of HTML its character, one to what is no character of
//   XML U+FFFD, and < where no tag begins &lt;
// - values of attributes are quoted; attributes without a value or a name, and those that were
// there
//   before, are left out
// - an end tag ends all that is open within its element; one of what is not open is left out.
// Comments, processing instructions and the document type are left out: nobody reads them, and a
// parser that sees no document type declares and expands nothing. CDATA stays as it is.
// Thread-compatible.
class MarkupMender {
 public:
  // Appends what is mended of the next text to `out`; with `last` all that is left.
  // InvalidArgument with the reason, from then on, for a token that is too long, a tag of too many
  // attributes, elements that are too deep, too many names, or a document type that declares
  // entities.
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
  // Of what begins with & and may end with a semicolon.
  void AppendReference(std::string_view reference, std::string* out);
  void AppendValue(std::string_view value, std::string* out);
  void AppendAttributes(std::string_view rest, std::string* out);
  void CountName(std::string_view name);
  // A parser reads nothing behind the root, so what is wrong there is no fault: how far a text goes
  // beyond the root depends on how it is cut.
  void Count(uint64_t faults = 1) { mended_ += ended_ ? 0 : faults; }
  void Refuse(std::string why) {
    if (!ended_) fault_ = std::move(why);
  }
  // Of <name ...> and </name>.
  void AppendTag(std::string* out);
  void Close(std::string_view name, std::string* out);

  State state_ = State::kText;
  std::string held_;      // from its & or <, what is not yet clear
  char quote_ = 0;        // of the value or, in a document type, 0: none is open
  char before_ = 0;       // the last character of the tag that is no blank
  std::string_view end_;  // of what is passed over
  size_t matched_ = 0;    // of an end, or of a declaration of entities
  int brackets_ = 0;      // of a document type
  size_t token_bytes_ = 0;
  std::vector<std::string> open_;  // elements
  std::set<std::string, std::less<>> names_;
  uint64_t mended_ = 0;
  bool ended_ = false;  // the root is closed
  std::string fault_;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_MARKUP_MENDER_H_
