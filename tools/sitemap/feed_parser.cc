#include "tools/sitemap/feed_parser.h"

#include <fmt/format.h>
#include <libxml/parser.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "core/base/status.h"
#include "tools/cli/cells.h"
#include "tools/sitemap/site_url.h"

namespace freshet::sitemap {
namespace {

std::string_view View(const xmlChar* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

FeedKind KindOf(std::string_view root) {
  if (root == "urlset") return FeedKind::kSitemap;
  if (root == "sitemapindex") return FeedKind::kIndex;
  if (root == "rss" || root == "RDF") return FeedKind::kRss;
  if (root == "feed") return FeedKind::kAtom;
  return FeedKind::kUnknown;
}

std::string_view EntryName(FeedKind kind) {
  switch (kind) {
    case FeedKind::kSitemap:
      return "url";
    case FeedKind::kIndex:
      return "sitemap";
    case FeedKind::kRss:
      return "item";
    case FeedKind::kAtom:
      return "entry";
    case FeedKind::kText:
    case FeedKind::kUnknown:
      break;
  }
  return "";
}

bool IsHttp(std::string_view url) {
  return absl::StartsWithIgnoreCase({url.data(), url.size()}, "http://") ||
         absl::StartsWithIgnoreCase({url.data(), url.size()}, "https://");
}

// Returns the rank of a link's type; lower is better. Atom's alternates are other forms of the
// page.
int RankOfType(std::string_view type) {
  const std::string lower = absl::AsciiStrToLower({type.data(), type.size()});
  if (lower.starts_with("text/html") || lower.starts_with("application/xhtml")) return 0;
  return type.empty() ? 1 : 2;
}

// The attributes of a start tag. Thread-compatible.
class Attributes {
 public:
  Attributes(int count, const xmlChar** fields) : count_(count), fields_(fields) {}

  // Returns the value of the attribute with this name, in any namespace; in the namespace of XML
  // only if `xml`.
  [[nodiscard]] std::string_view Find(std::string_view name, bool xml = false) const {
    for (int i = 0; i < count_; ++i) {
      const xmlChar** field = fields_ + ptrdiff_t{5} * i;
      if (View(field[0]) != name || (View(field[1]) == "xml") != xml) continue;
      return {reinterpret_cast<const char*>(field[3]), static_cast<size_t>(field[4] - field[3])};
    }
    return {};
  }

 private:
  const int count_;
  const xmlChar** const fields_;
};

// An element's name. Value type, thread-compatible.
struct Name {
  std::string local;
  std::string space;  // the undeclared prefix if it has no namespace
  bool operator==(const Name&) const = default;
};

// Extracts the entries from the events of the parser. Owner thread only.
class Reading {
 public:
  Reading(const TextSource& source, const std::function<void(FeedEntry)>& take)
      : source_(source), take_(take) {}

  [[nodiscard]] absl::StatusOr<FeedSummary> Run();

 private:
  static xmlSAXHandler Handler();
  void Start(const Name& name, int namespaces, const Attributes& attributes);
  void StartBase(std::string_view base);
  void StartField(const Name& name, const Attributes& attributes);
  void Text(std::string_view more);
  void End();
  void EndEntry();
  void EndField();
  void TakeUrl(std::string_view url, int rank);
  void TakeDate(std::string_view text, int rank);
  void Fault(const xmlError& error);
  void Refuse(std::string why);
  int Read(char* buffer, int size);
  [[nodiscard]] absl::Status Judge() const;
  [[nodiscard]] std::string Base() const { return bases_.empty() ? "" : bases_.back().second; }
  [[nodiscard]] bool Own() const { return field_.space == entry_space_; }

  const TextSource& source_;
  const std::function<void(FeedEntry)>& take_;
  MarkupMender mender_;
  xmlParserCtxtPtr parser_ = nullptr;
  FeedSummary summary_;
  absl::Status status_;         // error of the source
  std::string beyond_mending_;  // why the mender stopped; empty = it has not
  std::string refused_;
  bool ended_ = false;   // the source has no more text
  bool closed_ = false;  // the root element has ended
  bool behind_ = false;  // there is text after the root element
  uint64_t prefix_faults_ = 0;
  std::string fault_;    // fault found by the parser
  std::string part_;     // next part of the source
  std::string pending_;  // mended text for the parser
  size_t given_ = 0;     // bytes of pending_ that were given to the parser
  int depth_ = 0;
  int entry_depth_ = 0;  // depth of the open entry; 0 = none is open
  uint64_t entries_ = 0;
  int namespaces_ = 0;         // open namespaces
  std::vector<int> declared_;  // namespaces declared by each open element
  uint64_t joined_ = 0;        // xml:base values so far
  // Open xml:base values, each with the depth of its element.
  std::vector<std::pair<int, std::string>> bases_;
  FeedEntry entry_;
  std::string entry_space_;
  int url_rank_ = 0;  // lower is better
  int date_rank_ = 0;
  Name field_;              // current field of the entry
  bool permanent_ = false;  // the guid is a permalink
  std::string text_;
};

constexpr int kNoRank = 100;

void Reading::Refuse(std::string why) {
  if (refused_.empty()) refused_ = std::move(why);
  xmlStopParser(parser_);
}

// Undeclared prefixes are common. They are not an error, and count as namespaces. Any other error
// ends the document, except after its root.
void Reading::Fault(const xmlError& error) {
  if (error.level == XML_ERR_WARNING) return;
  if (error.domain == XML_FROM_NAMESPACE) {
    if (++prefix_faults_ > kMaxFeedPrefixFaults)
      Refuse("the document uses namespace prefixes, but declares none");
  } else if (closed_) {
    behind_ = true;
  } else if (fault_.empty() && error.message != nullptr) {
    const std::string_view said = cli::Trimmed(error.message);
    fault_ = fmt::format("{} in line {}", said.substr(0, 200), error.line);
  }
}

void Reading::Start(const Name& name, int namespaces, const Attributes& attributes) {
  if (!refused_.empty()) return;
  ++depth_;
  declared_.push_back(namespaces);
  namespaces_ += namespaces;
  if (namespaces_ > kMaxFeedNamespaces) {
    return Refuse(fmt::format("the document declares more than {} namespaces", kMaxFeedNamespaces));
  }
  StartBase(attributes.Find("base", true));
  if (depth_ == 1) {
    summary_.kind = KindOf(name.local);
    if (summary_.kind == FeedKind::kUnknown) {
      Refuse(fmt::format(
          "the document's root is <{}>, which is not a sitemap, sitemap index, RSS or Atom",
          name.local.substr(0, 60)));
    }
    return;
  }
  if (name.local == EntryName(summary_.kind) && (entry_depth_ == 0 || name.space == entry_space_)) {
    // An entry begins inside another, so the end tag of the outer entry is missing.
    if (entry_depth_ != 0) EndEntry();
    entry_depth_ = depth_;
    entry_ = {.kind = summary_.kind};
    entry_space_ = name.space;
    url_rank_ = kNoRank;
    date_rank_ = kNoRank;
    if (++entries_ > kMaxFeedEntries) {
      Refuse(fmt::format("the document has more than {} entries", kMaxFeedEntries));
    }
    return;
  }
  if (entry_depth_ != 0 && depth_ == entry_depth_ + 1) StartField(name, attributes);
}

// Notes the xml:base of the current element, if it has one.
void Reading::StartBase(std::string_view base) {
  if (base.empty() || base.size() > kMaxFeedBaseBytes) return;
  if (++joined_ > kMaxFeedBases) {
    return Refuse(fmt::format("the document has more than {} xml:base", kMaxFeedBases));
  }
  std::string joined = JoinUrls(Base(), std::string(cli::Trimmed(base)));
  if (joined.size() <= kMaxFeedBaseBytes) bases_.emplace_back(depth_, std::move(joined));
}

void Reading::StartField(const Name& name, const Attributes& attributes) {
  field_ = name;
  text_.clear();
  permanent_ = !absl::EqualsIgnoreCase(
      {attributes.Find("isPermaLink").data(), attributes.Find("isPermaLink").size()}, "false");
  if (summary_.kind != FeedKind::kAtom || !Own() || name.local != "link") return;
  const std::string_view relation = attributes.Find("rel");
  if (!relation.empty() && relation != "alternate") return;
  TakeUrl(cli::Trimmed(attributes.Find("href")), RankOfType(attributes.Find("type")));
}

void Reading::Text(std::string_view more) {
  constexpr std::array<std::string_view, 10> kFields = {
      "loc",     "lastmod", "priority", "link",     "guid",
      "pubDate", "date",    "updated",  "modified", "published"};
  if (!refused_.empty() || entry_depth_ == 0 || depth_ != entry_depth_ + 1) return;
  if (std::find(kFields.begin(), kFields.end(), field_.local) == kFields.end()) return;
  if (text_.size() + more.size() > kMaxFeedTextBytes) {
    return Refuse(fmt::format("<{}> has more than {} bytes", field_.local, kMaxFeedTextBytes));
  }
  text_.append(more);
}

void Reading::End() {
  if (!refused_.empty() || depth_ == 0) return;
  if (entry_depth_ != 0 && depth_ == entry_depth_ + 1) {
    EndField();
  } else if (depth_ == entry_depth_) {
    EndEntry();
  }
  namespaces_ -= declared_.back();
  declared_.pop_back();
  if (!bases_.empty() && bases_.back().first == depth_) bases_.pop_back();
  closed_ = --depth_ == 0;
}

void Reading::EndEntry() {
  entry_depth_ = 0;
  take_(std::exchange(entry_, {}));
}

void Reading::EndField() {
  const std::string_view value = cli::Trimmed(text_);
  const FeedKind kind = summary_.kind;
  const bool map = kind == FeedKind::kSitemap || kind == FeedKind::kIndex;
  const std::string& name = field_.local;
  if (value.empty()) {
    // The element has no text.
  } else if (Own() && ((map && name == "loc") || (kind == FeedKind::kRss && name == "link"))) {
    TakeUrl(value, 0);
  } else if (Own() && kind == FeedKind::kRss && name == "guid" && permanent_ && IsHttp(value)) {
    TakeUrl(value, 1);
  } else if ((map && Own() && name == "lastmod") ||
             (!map && (name == "updated" || name == "modified"))) {
    TakeDate(value, 0);
  } else if (!map && (name == "pubDate" || name == "date" || name == "published")) {
    TakeDate(value, 1);
  } else if (kind == FeedKind::kSitemap && Own() && name == "priority") {
    double priority = -1;
    const auto [end, error] = std::from_chars(value.begin(), value.end(), priority);
    if (error == std::errc() && end == value.end() && priority >= 0 && priority <= 1) {
      entry_.priority = priority;
    }
  }
  field_ = {};
  text_.clear();
}

// Keeps the best of several URLs, and the first of equally good ones.
void Reading::TakeUrl(std::string_view url, int rank) {
  if (rank >= url_rank_ || url.empty()) return;
  url_rank_ = rank;
  entry_.url = url.substr(0, kMaxFeedTextBytes);
  entry_.base = Base();
}

void Reading::TakeDate(std::string_view text, int rank) {
  // A readable date is better than any unreadable one.
  if (rank >= date_rank_ && (entry_.modified.ok() || date_rank_ != kNoRank)) {
    if (entry_.modified.ok()) return;
  }
  absl::StatusOr<FeedDate> date = ParseFeedDate(text);
  if (!date.ok() && entry_.modified.ok()) return;
  if (date.ok()) date_rank_ = rank;
  entry_.modified = std::move(date);
}

// Fills the parser's whole buffer, so that the result does not depend on the pieces of the source.
int Reading::Read(char* buffer, int size) {
  while (pending_.size() - given_ < static_cast<size_t>(size) && !ended_) {
    pending_.erase(0, std::exchange(given_, 0));
    part_.clear();
    const absl::StatusOr<bool> more = source_(&part_);
    status_ = more.status();
    if (!status_.ok()) return -1;
    ended_ = !*more;
    if (const absl::Status mended = mender_.Mend(part_, ended_, &pending_); !mended.ok()) {
      beyond_mending_ = std::string(mended.message());
      ended_ = true;
    }
  }
  const size_t count = std::min(static_cast<size_t>(size), pending_.size() - given_);
  // The parser first reads all text before the fault.
  if (count == 0 && !beyond_mending_.empty()) {
    if (refused_.empty()) refused_ = beyond_mending_;
    return -1;
  }
  std::memcpy(buffer, pending_.data() + given_, count);
  given_ += count;
  return static_cast<int>(count);
}

xmlSAXHandler Reading::Handler() {
  xmlSAXHandler handler{};
  handler.initialized = XML_SAX2_MAGIC;
  handler.startElementNs = [](void* self, const xmlChar* local, const xmlChar* prefix,
                              const xmlChar* uri, int namespaces, const xmlChar**, int count, int,
                              const xmlChar** attributes) {
    auto& reading = *static_cast<Reading*>(self);
    const std::string space(uri != nullptr ? View(uri) : View(prefix));
    reading.Start({std::string(View(local)), space}, namespaces, Attributes(count, attributes));
  };
  handler.endElementNs = [](void* self, const xmlChar*, const xmlChar*, const xmlChar*) {
    static_cast<Reading*>(self)->End();
  };
  handler.characters = [](void* self, const xmlChar* text, int size) {
    static_cast<Reading*>(self)->Text(
        {reinterpret_cast<const char*>(text), static_cast<size_t>(size)});
  };
  handler.cdataBlock = handler.characters;
  handler.ignorableWhitespace = handler.characters;
  handler.serror = [](void* self, xmlErrorPtr error) {
    static_cast<Reading*>(self)->Fault(*error);
  };
  return handler;
}

absl::Status Reading::Judge() const {
  if (!status_.ok()) return status_;
  if (!refused_.empty()) return absl::InvalidArgumentError(refused_);
  if (closed_) return absl::OkStatus();
  if (summary_.kind == FeedKind::kUnknown) {
    return absl::InvalidArgumentError("the document is not XML: it begins with no element");
  }
  return absl::InvalidArgumentError(fmt::format("the document is not XML, or cut off: {}", fault_));
}

absl::StatusOr<FeedSummary> Reading::Run() {
  xmlSAXHandler handler = Handler();
  const std::unique_ptr<xmlParserCtxt, decltype(&xmlFreeParserCtxt)> parser(
      xmlCreateIOParserCtxt(
          &handler, this,
          [](void* self, char* buffer, int size) {
            return static_cast<Reading*>(self)->Read(buffer, size);
          },
          nullptr, this, XML_CHAR_ENCODING_UTF8),
      xmlFreeParserCtxt);
  if (parser == nullptr) return absl::InternalError("no memory for a parser");
  parser_ = parser.get();
  xmlCtxtUseOptions(parser_, XML_PARSE_NONET | XML_PARSE_IGNORE_ENC);
  (void)xmlParseDocument(parser_);
  RETURN_IF_ERROR(Judge());
  summary_.mended = mender_.mended() + (behind_ ? 1 : 0);
  return summary_;
}

}  // namespace

absl::StatusOr<FeedSummary> ReadFeed(const TextSource& source,
                                     const std::function<void(FeedEntry)>& take) {
  // This runs once for all threads.
  static const bool kReady = [] {
    xmlInitParser();
    return true;
  }();
  (void)kReady;
  return Reading(source, take).Run();
}

}  // namespace freshet::sitemap
