#include "tools/cli/feed_parser.h"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "absl/time/time.h"
#include "tools/cli/cells.h"
#include "tools/cli/parse.h"

namespace freshet::cli {
namespace {

// The name without the prefix of its namespace.
std::string_view LocalName(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::string_view AttributeOf(const XML_Char** attributes, std::string_view name) {
  for (; *attributes != nullptr; attributes += 2) {
    if (LocalName(attributes[0]) == name) return attributes[1];
  }
  return {};
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
    case FeedKind::kUnknown:
      break;
  }
  return "";
}

}  // namespace

absl::StatusOr<google::protobuf::Timestamp> ParseRssDate(std::string_view text) {
  // The day of the week says nothing that the date does not.
  const size_t comma = text.find(',');
  std::string rest(Trimmed(comma == std::string_view::npos ? text : text.substr(comma + 1)));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kZones = {
      {{"GMT", "+0000"},
       {"UTC", "+0000"},
       {"UT", "+0000"},
       {"EST", "-0500"},
       {"EDT", "-0400"},
       {"CST", "-0600"},
       {"CDT", "-0500"},
       {"MST", "-0700"},
       {"MDT", "-0600"},
       {"PST", "-0800"},
       {"PDT", "-0700"}}};
  for (const auto& [name, offset] : kZones) {
    if (rest.size() > name.size() && rest.ends_with(name)) {
      rest.replace(rest.size() - name.size(), name.size(), offset);
      break;
    }
  }
  if (rest.ends_with("Z")) rest.replace(rest.size() - 1, 1, "+0000");
  absl::Time time;
  for (const char* format : {"%d %b %Y %H:%M:%S %z", "%d %b %Y %H:%M %z"}) {
    if (!absl::ParseTime(format, rest, &time, nullptr)) continue;
    google::protobuf::Timestamp stamp;
    stamp.set_seconds(absl::ToUnixSeconds(time));
    return stamp;
  }
  return absl::InvalidArgumentError(fmt::format("'{}' is no date", text.substr(0, 60)));
}

struct FeedParser::Impl {
  explicit Impl(std::function<void(FeedEntry)> sink)
      : entry_sink(std::move(sink)), parser(XML_ParserCreate(nullptr), XML_ParserFree) {
    XML_SetUserData(parser.get(), this);
    XML_SetElementHandler(
        parser.get(),
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<Impl*>(self)->Start(name, attributes);
        },
        [](void* self, const XML_Char*) { static_cast<Impl*>(self)->End(); });
    XML_SetCharacterDataHandler(parser.get(), [](void* self, const XML_Char* text, int size) {
      static_cast<Impl*>(self)->Text({text, static_cast<size_t>(size)});
    });
    XML_SetEntityDeclHandler(
        parser.get(), [](void* self, const XML_Char*, int, const XML_Char*, int, const XML_Char*,
                         const XML_Char*, const XML_Char*, const XML_Char*) {
          static_cast<Impl*>(self)->Refuse("it declares entities, which no feed needs");
        });
  }

  void Refuse(std::string why) {
    if (fault.empty()) fault = std::move(why);
    XML_StopParser(parser.get(), XML_FALSE);
  }

  void Start(std::string_view name, const XML_Char** attributes) {
    if (!fault.empty()) return;
    const std::string_view local = LocalName(name);
    if (++depth > kMaxFeedDepth) {
      return Refuse(fmt::format("its elements are more than {} deep", kMaxFeedDepth));
    }
    if (depth == 1) {
      kind = KindOf(local);
      if (kind == FeedKind::kUnknown) {
        Refuse(fmt::format("its root is <{}>, which is no sitemap, index, RSS or Atom",
                           local.substr(0, 60)));
      }
      return;
    }
    if (entry_depth == 0 && local == EntryName(kind)) {
      entry_depth = depth;
      entry = {};
      if (++entries > kMaxFeedEntries) {
        Refuse(fmt::format("it has more than {} entries", kMaxFeedEntries));
      }
      return;
    }
    if (entry_depth == 0 || depth != entry_depth + 1) return;
    field = local;
    text.clear();
    if (kind == FeedKind::kAtom && local == "link") {
      const std::string_view relation = AttributeOf(attributes, "rel");
      const std::string_view target = AttributeOf(attributes, "href");
      if ((relation.empty() || relation == "alternate") && target.size() <= kMaxFeedTextBytes) {
        entry.url = Trimmed(target);
      }
    }
  }

  void Text(std::string_view more) {
    if (!fault.empty() || entry_depth == 0 || depth != entry_depth + 1) return;
    if (field != "loc" && field != "lastmod" && field != "priority" && field != "link" &&
        field != "pubDate" && field != "date" && field != "updated" && field != "modified") {
      return;
    }
    if (text.size() + more.size() > kMaxFeedTextBytes) {
      return Refuse(fmt::format("<{}> has more than {} bytes", field, kMaxFeedTextBytes));
    }
    text.append(more);
  }

  void End() {
    if (!fault.empty()) return;
    if (entry_depth != 0 && depth == entry_depth + 1) {
      TakeField(Trimmed(text));
      field.clear();
    } else if (depth == entry_depth) {
      entry_depth = 0;
      if (!entry.url.empty()) entry_sink(std::move(entry));
      entry = {};
    }
    --depth;
  }

  void TakeField(std::string_view value) {
    const bool map = kind == FeedKind::kSitemap || kind == FeedKind::kIndex;
    if (value.empty()) return;
    if ((map && field == "loc") || (kind == FeedKind::kRss && field == "link")) {
      entry.url = value;
    } else if ((map && field == "lastmod") || field == "date" || field == "modified" ||
               (kind == FeedKind::kAtom && field == "updated")) {
      entry.modified = ParseW3cDate(value);
    } else if (kind == FeedKind::kRss && field == "pubDate") {
      entry.modified = ParseRssDate(value);
    } else if (kind == FeedKind::kSitemap && field == "priority") {
      const absl::StatusOr<double> priority = ParseNonNegative(value);
      if (priority.ok() && *priority <= 1) entry.priority = *priority;
    }
  }

  [[nodiscard]] absl::Status Parse(std::string_view bytes, bool last) {
    if (fault.empty() &&
        XML_Parse(parser.get(), bytes.data(), static_cast<int>(bytes.size()), last) ==
            XML_STATUS_ERROR &&
        fault.empty()) {
      fault = fmt::format("it is no XML: {} in line {}",
                          XML_ErrorString(XML_GetErrorCode(parser.get())),
                          XML_GetCurrentLineNumber(parser.get()));
    }
    fed += bytes.size();
    // Negative: nothing has begun.
    const auto begun =
        static_cast<size_t>(std::max<XML_Index>(0, XML_GetCurrentByteIndex(parser.get())));
    if (fault.empty() && fed > begun + kMaxFeedTokenBytes) {
      fault = fmt::format("it is no XML, or has a tag or comment of more than {} KiB",
                          kMaxFeedTokenBytes >> 10);
    }
    return fault.empty() ? absl::OkStatus() : absl::InvalidArgumentError(fault);
  }

  const std::function<void(FeedEntry)> entry_sink;
  const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser;
  FeedKind kind = FeedKind::kUnknown;
  std::string fault;
  int depth = 0;
  int entry_depth = 0;  // of the entry that is open; 0: none is
  uint64_t entries = 0;
  size_t fed = 0;
  FeedEntry entry;
  std::string field;  // of the entry
  std::string text;
};

FeedParser::FeedParser(std::function<void(FeedEntry)> entry)
    : impl_(std::make_unique<Impl>(std::move(entry))) {}
FeedParser::~FeedParser() = default;

absl::Status FeedParser::Feed(std::string_view bytes) {
  // Its sizes are ints.
  constexpr size_t kMost = 64 << 10;
  for (; bytes.size() > kMost; bytes.remove_prefix(kMost)) {
    const absl::Status status = impl_->Parse(bytes.substr(0, kMost), false);
    if (!status.ok()) return status;
  }
  return impl_->Parse(bytes, false);
}

absl::Status FeedParser::Finish() { return impl_->Parse("", true); }

FeedKind FeedParser::kind() const { return impl_->kind; }

}  // namespace freshet::cli
