#include "tools/sitemap/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "core/base/status.h"
#include "tools/cli/cells.h"
#include "tools/sitemap/site_url.h"
#include "tools/sitemap/text_decoder.h"

namespace freshet::sitemap {
namespace {

constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";

// Returns why a page with this URL cannot be requested; empty = it can.
std::string WhyUseless(const std::string& url, std::string* its_site) {
  if (!IsAbsoluteUrl(url)) return "its URL is relative, and that of the document is not known";
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(url);
  if (!site.ok()) return std::string(site.status().message());
  *its_site = SiteOfHost(site->host);
  return "";
}

// Makes the URL of an entry absolute, or notes why it cannot be used.
void Settle(const DocumentSource& source, FeedEntry* entry) {
  entry->url = WithoutMarks(entry->url);
  if (entry->url.empty() || !entry->why.empty()) return;
  // This is checked before the URLs are joined, because joining would escape the character.
  if (entry->url.find(kReplacementText) != std::string::npos) {
    entry->why = "its URL has bytes that are not characters of its encoding";
    return;
  }
  if (!IsAbsoluteUrl(entry->url)) {
    entry->url = JoinUrls(JoinUrls(source.url, entry->base), entry->url);
  }
  entry->why = WhyUseless(entry->url, &entry->site);
}

// Decodes the text of a site, and buffers its beginning. Owner thread only.
class SiteText {
 public:
  SiteText(const TextSource& bytes, const std::string& charset)
      : bytes_(bytes), decoder_(charset) {}

  // Next has the form of a TextSource.
  absl::StatusOr<bool> Next(std::string* out) {
    if (!peeked_.empty()) {
      out->append(std::exchange(peeked_, {}));
      return true;
    }
    if (ended_) return false;
    part_.clear();
    ASSIGN_OR_RETURN(const bool more, bytes_(&part_));
    read_ += part_.size();
    if (read_ > kMaxFeedBytes) {
      return absl::InvalidArgumentError(
          fmt::format("larger than {} MiB, when decompressed; no sitemap is", kMaxFeedBytes >> 20));
    }
    ended_ = !more;
    decoder_.Decode(part_, ended_, out);
    return true;
  }
  // Returns the first character; '\0' = the text is empty.
  absl::StatusOr<char> First() {
    while (peeked_.empty() && !ended_) {
      std::string first;
      RETURN_IF_ERROR(Next(&first).status());
      peeked_ = std::move(first);
    }
    return peeked_.empty() ? '\0' : peeked_.front();
  }
  // Reads the rest of the text, only to find errors in it.
  [[nodiscard]] absl::Status Drain() {
    std::string rest;
    while (!ended_) {
      rest.clear();
      RETURN_IF_ERROR(Next(&rest).status());
    }
    return absl::OkStatus();
  }
  [[nodiscard]] uint64_t replaced() const { return decoder_.replaced(); }

 private:
  const TextSource& bytes_;
  TextDecoder decoder_;
  std::string part_;
  std::string peeked_;
  size_t read_ = 0;
  bool ended_ = false;
};

// Calls `take` for each line, without surrounding blanks, until `take` fails. InvalidArgument: a
// line has more than `most` bytes.
absl::Status ForEachLine(const TextSource& text, size_t most,
                         const std::function<absl::StatusOr<bool>(std::string_view)>& take) {
  std::string pending;
  bool more = true;
  while (more) {
    // A site might send one byte at a time, so text that has no line end is not searched again.
    const size_t searched = pending.size();
    ASSIGN_OR_RETURN(more, text(&pending));
    if (!more) pending.push_back('\n');
    size_t start = 0;
    for (size_t end = searched; (end = pending.find_first_of("\r\n", end)) != std::string::npos;
         end = start) {
      ASSIGN_OR_RETURN(const bool on,
                       take(cli::Trimmed(std::string_view(pending).substr(start, end - start))));
      if (!on) return absl::OkStatus();
      start = end + 1;
    }
    pending.erase(0, start);
    if (pending.size() > most) {
      return absl::InvalidArgumentError(
          fmt::format("the document is not XML, and has a line of more than {} KiB", most >> 10));
    }
  }
  return absl::OkStatus();
}

// Reads a list of URLs, one in each line, as the sitemap protocol allows. The first line
// distinguishes a list from other documents.
absl::StatusOr<FeedSummary> ReadList(const TextSource& text,
                                     const std::function<void(FeedEntry)>& take) {
  uint64_t entries = 0;
  RETURN_IF_ERROR(
      ForEachLine(text, kMaxFeedTextBytes, [&](std::string_view line) -> absl::StatusOr<bool> {
        line = WithoutMarks(line);
        if (line.empty()) return true;
        FeedEntry entry{.kind = FeedKind::kText, .url = std::string(line)};
        if (!IsAbsoluteUrl(line) || !ParseSiteUrl(entry.url).ok()) {
          entry.why = "it is not a URL";
          if (entries == 0) {
            return absl::InvalidArgumentError(
                "the document is not XML, and its first line is not a URL");
          }
        }
        if (++entries > kMaxFeedEntries) {
          return absl::InvalidArgumentError(
              fmt::format("the document has more than {} entries", kMaxFeedEntries));
        }
        take(std::move(entry));
        return true;
      }));
  if (entries == 0) return absl::InvalidArgumentError("the document is not XML: it is empty");
  return FeedSummary{.kind = FeedKind::kText};
}

}  // namespace

absl::StatusOr<FeedSummary> ReadDocumentText(const TextSource& bytes, const DocumentSource& source,
                                             const std::function<void(FeedEntry)>& entry) {
  SiteText text(bytes, source.charset);
  size_t url_bytes = 0;
  const auto fits = [&url_bytes] {
    if (url_bytes <= kMaxFeedUrlBytes) return absl::OkStatus();
    return absl::InvalidArgumentError(
        fmt::format("the URLs of the document have more than {} MiB, each with its xml:base",
                    kMaxFeedUrlBytes >> 20));
  };
  const auto take = [&](FeedEntry found) {
    Settle(source, &found);
    url_bytes += found.url.size();
    if (fits().ok()) entry(std::move(found));
  };
  const TextSource next = [&](std::string* out) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(fits());
    return text.Next(out);
  };
  ASSIGN_OR_RETURN(const char first, text.First());
  absl::StatusOr<FeedSummary> summary = first == '<' ? ReadFeed(next, take) : ReadList(next, take);
  RETURN_IF_ERROR(summary.status());
  RETURN_IF_ERROR(fits());
  RETURN_IF_ERROR(text.Drain());
  summary->mended += text.replaced();
  return summary;
}

absl::StatusOr<FeedSummary> ReadDocument(cli::ByteSource& bytes, const DocumentSource& source,
                                         const std::function<void(FeedEntry)>& entry) {
  return ReadDocumentText([&bytes](std::string* out) { return bytes.Read(out); }, source, entry);
}

absl::StatusOr<std::vector<std::string>> SitemapsOfRobots(const TextSource& bytes,
                                                          const std::string& base, size_t most) {
  size_t read = 0;
  TextDecoder decoder;
  std::string part;
  bool ended = false;
  const TextSource text = [&](std::string* out) -> absl::StatusOr<bool> {
    if (ended) return false;
    part.clear();
    ASSIGN_OR_RETURN(const bool more, bytes(&part));
    part.resize(std::min(part.size(), kMaxRobotsBytes - read));
    read += part.size();
    ended = !more || read == kMaxRobotsBytes;
    decoder.Decode(part, ended, out);
    return true;
  };
  std::vector<std::string> urls;
  size_t url_bytes = 0;
  RETURN_IF_ERROR(
      ForEachLine(text, 4 * kMaxRobotsBytes, [&](std::string_view line) -> absl::StatusOr<bool> {
        if (urls.size() >= most || url_bytes > kMaxNamesBytes) return false;
        const size_t colon = line.find(':');
        if (colon == std::string_view::npos) return true;
        const std::string_view name = WithoutMarks(line.substr(0, colon));
        if (!absl::EqualsIgnoreCase({name.data(), name.size()}, "sitemap")) return true;
        std::string_view url = WithoutMarks(line.substr(colon + 1));
        // A comment needs white space before it, because a '#' without it can belong to the URL.
        url = WithoutMarks(url.substr(0, url.find_first_of(" \t")));
        if (url.empty()) return true;
        urls.push_back(JoinUrls(base, std::string(url)));
        url_bytes += urls.back().size();
        return true;
      }));
  return urls;
}

std::string_view NameOf(FeedKind kind) {
  switch (kind) {
    case FeedKind::kSitemap:
      return "sitemap";
    case FeedKind::kIndex:
      return "index";
    case FeedKind::kRss:
      return "RSS";
    case FeedKind::kAtom:
      return "Atom";
    case FeedKind::kText:
      return "text";
    case FeedKind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace freshet::sitemap
