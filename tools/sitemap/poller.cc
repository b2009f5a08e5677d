#include "tools/sitemap/poller.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/status.h"
#include "tools/sitemap/document.h"

namespace freshet::sitemap {
namespace {

using Outcome = FetchResult::Outcome;
using Result = DocumentReport::Result;

bool IsUrl(std::string_view text) { return text.find("://") != std::string_view::npos; }

Instant InstantOf(const google::protobuf::Timestamp& time) {
  return Instant::FromMicros(time.seconds() * 1'000'000 + time.nanos() / 1000);
}

// The name of a site under which it is kept when to come again.
std::string OriginOf(const std::string& url) {
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(url);
  return site.ok() ? site->origin : url;
}

// A file as if it had been fetched.
FetchResult ReadFile(const std::string& path, int input, Spool& body) {
  FetchResult result;
  result.outcome = Outcome::kRefused;
  std::unique_ptr<cli::ByteSource> bytes;
  if (path == "-") {
    bytes = cli::ByteSource::FromDescriptor(input);
  } else {
    auto opened = cli::ByteSource::Open(path);
    result.why = std::string(opened.status().message());
    if (!opened.ok()) return result;
    bytes = *std::move(opened);
  }
  absl::Status status = body.Clear();
  std::string part;
  while (status.ok()) {
    part.clear();
    const absl::StatusOr<bool> more = bytes->Read(&part);
    status = more.status();
    if (!status.ok()) break;
    // One byte too many is for who reads it to refuse. What follows may have no end.
    if (!*more || body.size() > cli::kMaxFeedBytes) {
      result.outcome = Outcome::kFetched;
      return result;
    }
    status = body.Append(part);
  }
  result.why = std::string(status.message());
  return result;
}

// Entries are called for, and counted, until `take` fails; its error is returned then.
absl::Status ForEachEntry(const Spool& body,
                          const std::function<absl::Status(uint64_t, cli::FeedEntry)>& take) {
  absl::Status taken;
  uint64_t row = 0;
  const auto read = ReadDocument(*body.Read(), [&](cli::FeedEntry entry) {
    ++row;
    if (taken.ok()) taken = take(row, std::move(entry));
  });
  return taken.ok() ? read.status() : taken;
}

}  // namespace

Poller::Poller(PollerOptions options, PollState& state, Sender& sender,
               std::function<Instant()> clock, std::function<void(const DocumentReport&)> report)
    : options_(std::move(options)),
      state_(state),
      sender_(sender),
      clock_(std::move(clock)),
      report_(std::move(report)) {}

Poller::Named Poller::FirstOf(const std::string& argument) const {
  if (argument == "-") return {.url = argument};
  if (!IsUrl(argument)) return {.url = std::filesystem::absolute(argument).string()};
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(argument);
  if (!site.ok() || (!options_.robots && !site->is_root)) return {.url = argument};
  return {.url = site->origin + "/robots.txt", .robots = true};
}

absl::StatusOr<Instant> Poller::Due(const std::string& argument) {
  const absl::StatusOr<DocumentState> document = state_.FindDocument(FirstOf(argument).url);
  if (!document.ok()) return document.status();
  return document->next;
}

absl::Status Poller::Poll(const std::string& argument, int input) {
  if (!body_) {
    ASSIGN_OR_RETURN(body_, Spool::Create());
  }
  input_ = input;
  visited_.clear();
  return Visit(FirstOf(argument)).status();
}

void Poller::Fail(const Named& named, std::string why, DocumentReport report) {
  report.document = named.url;
  if (named.robots) report.kind = "robots";
  report.result = Result::kFailed;
  report.why = std::move(why);
  report_(report);
}

bool Poller::Allowed(const Fetched& fetched, const std::string& url) const {
  if (options_.other_hosts || fetched.hosts.empty()) return true;
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(url);
  return site.ok() && fetched.hosts.contains(site->host);
}

absl::StatusOr<bool> Poller::Visit(const Named& named) {
  const absl::Status stopped = absl::CancelledError("stopped by a signal");
  if (options_.fetch.cancelled()) return stopped;
  if (!visited_.insert(named.url).second) return false;
  ASSIGN_OR_RETURN(DocumentState document, state_.FindDocument(named.url));
  const std::string origin = OriginOf(named.url);
  ASSIGN_OR_RETURN(DocumentState site, state_.FindDocument(origin));
  const Instant now = clock_();
  if (options_.only_due && named.child && now < document.next) return false;
  if (now < site.not_before) {
    Fail(named, fmt::format("left alone: the site has asked to come again in {:.0f} s",
                            (site.not_before - now).seconds()));
    document.next = site.not_before;
    if (!options_.dry_run) RETURN_IF_ERROR(state_.PutDocument(named.url, document));
    return false;
  }
  Fetched fetched;
  // Files are for the operator to name: what a document names is a URL or nothing.
  if (named.child || IsUrl(named.url)) {
    fetched.result = Fetch({.url = named.url,
                            .only_public = named.only_public,
                            .etag = document.etag,
                            .last_modified = document.last_modified},
                           options_.fetch, *body_);
    for (const std::string& url : {named.url, fetched.result.url}) {
      const absl::StatusOr<SiteUrl> host = ParseSiteUrl(url);
      if (host.ok()) fetched.hosts.insert(host->host);
    }
  } else {
    fetched.result = ReadFile(named.url, input_, *body_);
  }
  if (options_.fetch.cancelled()) return stopped;
  ASSIGN_OR_RETURN(const bool changed, Take(named, fetched, &document));
  if (options_.dry_run) return changed;
  document.polled = now;
  document.interval = NextInterval(options_.intervals, document.interval, changed);
  document.next = NextPoll(now, document.interval, named.url);
  if (fetched.result.retry_after) {
    site.not_before = now + *fetched.result.retry_after;
    document.next = std::max(document.next, site.not_before);
    RETURN_IF_ERROR(state_.PutDocument(origin, site));
  }
  RETURN_IF_ERROR(state_.PutDocument(named.url, document));
  return changed;
}

absl::StatusOr<bool> Poller::Take(const Named& named, const Fetched& fetched,
                                  DocumentState* document) {
  const FetchResult& result = fetched.result;
  if (named.robots &&
      (result.outcome == Outcome::kFetched || result.outcome == Outcome::kNotThere)) {
    return TakeRobots(named, fetched);
  }
  DocumentReport report{.document = named.url};
  if (result.outcome == Outcome::kNotModified) {
    report.result = Result::kUnchanged;
    report_(report);
    return false;
  }
  if (result.outcome != Outcome::kFetched) {
    Fail(named, result.why);
    return false;
  }
  // Once for what it is, and whether all of it is good; sitemaps and feeds then again for what they
  // say, so that nothing is sent of a document that is refused at its end.
  std::vector<std::string> children;
  const auto kind = ReadDocument(*body_->Read(), [&](const cli::FeedEntry& entry) {
    ++report.entries;
    if (children.size() <= options_.max_documents) children.push_back(entry.url);
  });
  if (!kind.ok()) {
    Fail(named, std::string(kind.status().message()));
    return false;
  }
  report.kind = NameOf(*kind);
  if (*kind != cli::FeedKind::kIndex) {
    children = {};
    RETURN_IF_ERROR(SendNews(named, fetched, document, &report));
    report_(report);
    return report.new_pages + report.signals > 0;
  }
  // What an index names is polled each time, so it is read each time.
  document->etag.clear();
  document->last_modified.clear();
  if (named.depth == kMaxIndexDepth) {
    Fail(named, fmt::format("indexes are more than {} deep", kMaxIndexDepth), report);
    return false;
  }
  return VisitChildren(named, fetched, std::move(children), &report);
}

absl::StatusOr<bool> Poller::TakeRobots(const Named& named, const Fetched& fetched) {
  std::vector<std::string> children;
  DocumentReport report{.document = named.url, .kind = "robots"};
  if (fetched.result.outcome == Outcome::kFetched) {
    auto named_there = SitemapsOfRobots(*body_->Read(), options_.max_documents + 1);
    if (!named_there.ok()) {
      Fail(named, std::string(named_there.status().message()));
      return false;
    }
    children = *std::move(named_there);
  }
  report.entries = children.size();
  if (children.empty()) children.push_back(OriginOf(named.url) + "/sitemap.xml");
  return VisitChildren(named, fetched, std::move(children), &report);
}

absl::StatusOr<bool> Poller::VisitChildren(const Named& named, const Fetched& fetched,
                                           std::vector<std::string> children,
                                           DocumentReport* report) {
  std::erase_if(children, [&](const std::string& url) {
    const bool left = !Allowed(fetched, url);
    report->other_hosts += left ? 1 : 0;
    return left;
  });
  report_(*report);
  bool changed = false;
  for (const std::string& url : children) {
    if (visited_.size() >= options_.max_documents) {
      Fail(named, fmt::format("leads to more than {} documents: the rest is left",
                              options_.max_documents));
      break;
    }
    const absl::StatusOr<bool> child =
        Visit({.url = url,
               .only_public = named.only_public || fetched.result.from_public,
               .depth = named.depth + (named.robots ? 0 : 1),
               .child = true});
    RETURN_IF_ERROR(child.status());
    changed = changed || *child;
  }
  return changed;
}

absl::Status Poller::SendNews(const Named& named, const Fetched& fetched, DocumentState* document,
                              DocumentReport* report) {
  const Instant now = clock_();
  RETURN_IF_ERROR(state_.Forget());
  absl::Status status =
      ForEachEntry(*body_, [&](uint64_t row, const cli::FeedEntry& entry) -> absl::Status {
        if (!Allowed(fetched, entry.url)) {
          ++report->other_hosts;
          return absl::OkStatus();
        }
        ASSIGN_OR_RETURN(const bool sent, TakeEntry(row, entry, now, report));
        return sent ? absl::OkStatus() : absl::UnavailableError("the connection is lost");
      });
  // Even if the state has failed: what is under way is to end.
  const absl::StatusOr<Receipt> receipt = sender_.Finish();
  if (!receipt.ok()) status = receipt.status();
  if (!status.ok()) {
    Fail(named, std::string(status.message()), *report);
    // The error is what matters: what is staged is forgotten with the state at the latest.
    (void)state_.Forget();
    return status;
  }
  if (options_.dry_run) return state_.Forget();
  for (const uint64_t row : receipt->again) RETURN_IF_ERROR(state_.Unstage(row));
  report->refused = receipt->refused;
  // What was left for another time would not be seen again if the document were not.
  const bool all = receipt->again.empty() && report->future == 0;
  document->etag = all ? fetched.result.etag : "";
  document->last_modified = all ? fetched.result.last_modified : "";
  return state_.Commit(named.url, *document);
}

absl::StatusOr<bool> Poller::TakeEntry(uint64_t row, const cli::FeedEntry& entry, Instant now,
                                       DocumentReport* report) {
  Instant modified;
  if (absl::IsNotFound(entry.modified.status())) {
    ++report->undated;
  } else if (!entry.modified.ok() || InstantOf(*entry.modified) < kEarliestDate) {
    ++report->unreadable;
  } else if (InstantOf(*entry.modified) > now + kMaxDateAhead) {
    ++report->future;
  } else {
    modified = InstantOf(*entry.modified);
  }
  ASSIGN_OR_RETURN(const KnownPage page, state_.FindPage(entry.url));
  // The same page twice in a document: the second does not count.
  if (page.staged || (page.known && modified <= page.modified)) return true;
  RETURN_IF_ERROR(state_.Stage(row, entry.url, modified));
  ++(page.known ? report->signals : report->new_pages);
  return page.known ? sender_.SendSignal(row, entry) : sender_.SendPage(row, entry);
}

}  // namespace freshet::sitemap
