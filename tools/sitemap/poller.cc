#include "tools/sitemap/poller.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/base/safe_text.h"
#include "core/base/status.h"
#include "tools/sitemap/document.h"

namespace freshet::sitemap {
namespace {

using Outcome = FetchResult::Outcome;
using Result = DocumentReport::Result;

constexpr size_t kShownUrlBytes = 200;

// The bytes of a URL once bytes that no URL has are escaped.
size_t EscapedBytes(std::string_view url) {
  size_t bytes = 0;
  for (const char byte : url) bytes += byte > ' ' && byte < '\x7f' ? 1 : 3;
  return bytes;
}

bool IsUrl(std::string_view text) { return text.find("://") != std::string_view::npos; }

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
    if (!*more || body.size() > kMaxFeedBytes) {
      result.outcome = Outcome::kFetched;
      return result;
    }
    status = body.Append(part);
  }
  result.why = std::string(status.message());
  return result;
}

std::string SiteOf(const std::string& url) {
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(url);
  return site.ok() ? SiteOfHost(site->host) : "";
}

// As RFC 9309 has it: a site without rules, one that says so in another way, or one that sends us
// round.
bool IsWithoutRobots(const FetchResult& result) {
  return result.too_many_redirects ||
         (result.outcome != Outcome::kFetched && result.status >= 400 && result.status < 500 &&
          !result.retry_after);
}

// A URL that somebody else has written, for a line of a report.
std::string Shown(std::string_view url) {
  return CutText(SafeText(url.substr(0, kShownUrlBytes + 1)), kShownUrlBytes);
}

absl::Status Stopped() { return absl::CancelledError("stopped by a signal"); }

std::string TookTooLong(Duration most) {
  return fmt::format("the site took more than {:.0f} s: the rest is left for another time",
                     most.seconds());
}

std::string AddedTooMany(uint64_t most) {
  return fmt::format(
      "the site has added {} pages in this poll (a URL counts once for each {} bytes): the rest is "
      "left for another time",
      most, kUrlBytesPerPage);
}

// The latest instant that a date may mean and that is over.
Instant ChangeOf(const FeedDate& date, Instant now) { return std::min(date.latest, now); }

}  // namespace

std::string PossibleLastModified(const std::string& value, Instant fetched) {
  const absl::StatusOr<FeedDate> date = ParseFeedDate(value);
  return date.ok() && date->told >= kEarliestDate && date->told <= fetched ? value : "";
}

Poller::Poller(PollerOptions options, PollState& state, Sender& sender, Mutex& turn,
               std::function<Instant()> clock, std::function<void(const DocumentReport&)> report)
    : options_(std::move(options)),
      state_(state),
      sender_(sender),
      turn_(turn),
      clock_(std::move(clock)),
      report_(std::move(report)) {}

Poller::Named Poller::FirstOf(const std::string& argument) const {
  if (argument == "-") return {.url = argument};
  if (!IsUrl(argument)) return {.url = std::filesystem::absolute(argument).string()};
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(argument);
  if (!site.ok()) return {.url = argument};
  if (!options_.robots && !site->is_root) {
    return {.url = argument, .site = SiteOfHost(site->host)};
  }
  return {.url = site->origin + "/robots.txt", .site = SiteOfHost(site->host), .robots = true};
}

// A document that one site names of another is another document: what the poll on its word came
// to says nothing about the polls of the site that has it.
DocumentKey Poller::KeyOf(const Named& named) { return {named.site, named.url}; }

Poller::Named Poller::ChildOf(const Named& named, const FetchResult& fetched,
                              const std::string& url) {
  return {.url = url,
          // A file speaks for the operator, and what it names for itself.
          .site = named.site.empty() ? SiteOf(url) : named.site,
          .only_public = named.only_public || fetched.from_public,
          .depth = named.depth + (named.robots ? 0 : 1),
          .child = true};
}

absl::StatusOr<Instant> Poller::Due(const std::string& argument) {
  const MutexLock lock(turn_);
  ASSIGN_OR_RETURN(const DocumentState document, Find(KeyOf(FirstOf(argument))));
  return document.next;
}

absl::StatusOr<DocumentState> Poller::Find(const DocumentKey& key) {
  ASSIGN_OR_RETURN(DocumentState document, state_.FindDocument(key));
  const Instant now = clock_();
  if (document.polled > now) {
    const Duration ahead = document.polled - now;
    document.polled = document.next = now;
    document.not_before = document.not_before - ahead;
  }
  if (document.not_before > now + kMaxRetryAfter) document.not_before = Instant();
  return document;
}

absl::Status Poller::Poll(const std::string& argument, int input) {
  if (!body_) {
    ASSIGN_OR_RETURN(entries_, EntryFile::Create());
    ASSIGN_OR_RETURN(body_, Spool::Create());
  }
  const MutexLock lock(turn_);
  input_ = input;
  visited_.clear();
  foreign_ = 0;
  site_left_ = options_.site_timeout;
  site_pages_ = 0;
  bounded_.clear();
  return Visit(FirstOf(argument)).status();
}

void Poller::Fail(const Named& named, std::string why, DocumentReport report) {
  report.document = named.url;
  if (named.robots) report.kind = "robots";
  report.result = Result::kFailed;
  report.why = std::move(why);
  report_(report);
}

bool Poller::MayNamePage(const Named& named, const std::string& site) const {
  return options_.other_hosts || named.site.empty() || named.site == site;
}

// The robots.txt of a site may name sitemaps wherever they are; these name its pages alone.
bool Poller::MayNameDocument(const Named& named, const std::string& site) const {
  return named.robots || MayNamePage(named, site) || site == SiteOf(named.url);
}

bool Poller::Leave(const Named& named, uint64_t row, const FeedEntry& entry,
                   DocumentReport* report) const {
  const bool document = named.robots || entry.kind == FeedKind::kIndex;
  std::string why;
  if (entry.url.empty()) {
    ++report->without_url;
    why = "it names no URL";
  } else if (!entry.why.empty()) {
    ++report->bad_urls;
    why = entry.why;
  } else if (document && entry.url.size() > kMaxDocumentUrlBytes) {
    ++report->bad_urls;
    why = fmt::format("its URL is longer than {} bytes", kMaxDocumentUrlBytes);
  } else if (document ? !MayNameDocument(named, entry.site) : !MayNamePage(named, entry.site)) {
    ++report->other_hosts;
    why = "it is of another host";
  } else if (EscapedBytes(entry.url) > limits::kMaxUrlBytes) {
    // The server would refuse it, and the state keep it all the same.
    ++report->bad_urls;
    why = fmt::format("its URL is longer than {} bytes", limits::kMaxUrlBytes);
  } else {
    return false;
  }
  if (report->left_out.size() < kMaxNamedLeftOut) {
    report->left_out.push_back(entry.url.empty()
                                   ? fmt::format("entry {}: {}", row, why)
                                   : fmt::format("entry {}: {}: {}", row, Shown(entry.url), why));
  }
  return true;
}

FetchResult Poller::FetchOrRead(const Named& named, const DocumentState& document, Instant now) {
  // Files are for the operator to name: what a document names is a URL or nothing.
  const bool fetch = named.child || IsUrl(named.url);
  FetchOptions options = options_.fetch;
  options.timeout = std::min(options.timeout, site_left_);
  turn_.Unlock();
  FetchResult result =
      fetch ? Fetch({.url = named.url,
                     // Its site may have been led elsewhere since by those who run its DNS.
                     .only_public = named.only_public || document.from_public,
                     .etag = document.etag,
                     .last_modified = PossibleLastModified(document.last_modified, now)},
                    options, *body_)
            : ReadFile(named.url, input_, *body_);
  turn_.Lock();
  site_left_ = site_left_ - result.elapsed;
  result.last_modified = PossibleLastModified(result.last_modified, clock_());
  return result;
}

absl::StatusOr<bool> Poller::Visit(const Named& named) {
  if (options_.fetch.cancelled()) return Stopped();
  if (!visited_.insert(named.url).second) return false;
  ASSIGN_OR_RETURN(DocumentState document, Find(KeyOf(named)));
  const Instant now = clock_();
  if (!options_.dry_run && bounded_.insert(named.site).second) {
    RETURN_IF_ERROR(state_.KeepDocuments(named.site, options_.most_remembered, now));
  }
  ASSIGN_OR_RETURN(const Instant site_wait,
                   state_.FindWait(OriginOf(named.url), now + kMaxRetryAfter));
  if (options_.only_due && named.child && now < document.next) return false;
  if (const Instant asked = std::max(site_wait, document.not_before); now < asked) {
    Fail(named,
         fmt::format("not fetched: the site asked for a wait of another {:.0f} s (Retry-After)",
                     (asked - now).seconds()));
    document.next = asked;
    if (!options_.dry_run) RETURN_IF_ERROR(state_.PutDocument(KeyOf(named), document));
    return false;
  }
  const FetchResult fetched = FetchOrRead(named, document, now);
  if (options_.fetch.cancelled()) return Stopped();
  document.from_public |= fetched.from_public;
  ASSIGN_OR_RETURN(const bool changed, Take(named, fetched, &document));
  // Sites can name as many documents as they like that are nowhere: those leave nothing behind.
  const bool nowhere =
      fetched.outcome == Outcome::kNotThere || fetched.outcome == Outcome::kRefused;
  const bool forgotten = named.child && nowhere && document.polled == Instant();
  if (options_.dry_run || forgotten) return changed;
  document.polled = now;
  document.interval = NextInterval(options_.intervals, document.interval, changed);
  document.next = NextPoll(now, document.interval, named.url);
  if (fetched.retry_after) {
    // The wait is for the site that asks, where redirects ended, and for the document that leads
    // there.
    document.not_before = now + *fetched.retry_after;
    document.next = std::max(document.next, document.not_before);
    RETURN_IF_ERROR(state_.PutDocument({named.site, OriginOf(fetched.url)},
                                       {.not_before = document.not_before}));
  }
  RETURN_IF_ERROR(state_.PutDocument(KeyOf(named), document));
  return changed;
}

absl::StatusOr<bool> Poller::Take(const Named& named, const FetchResult& fetched,
                                  DocumentState* document) {
  if (named.robots && (fetched.outcome == Outcome::kFetched || IsWithoutRobots(fetched))) {
    return TakeRobots(named, fetched);
  }
  if (fetched.outcome == Outcome::kNotModified) {
    report_({.document = named.url, .result = Result::kUnchanged});
    return false;
  }
  if (fetched.outcome != Outcome::kFetched) {
    Fail(named,
         named.robots
             ? fmt::format(
                   "robots.txt cannot be fetched, so nothing else of the site is fetched: {}",
                   fetched.why)
             : fetched.why);
    return false;
  }
  return TakeDocument(named, fetched, document);
}

absl::StatusOr<bool> Poller::TakeDocument(const Named& named, const FetchResult& fetched,
                                          DocumentState* document) {
  DocumentReport report{.document = named.url};
  std::vector<std::string> children;
  const Instant now = clock_();
  turn_.Unlock();
  const auto read = ReadEntries(named, fetched, now + site_left_, &report, &children);
  turn_.Lock();
  site_left_ = site_left_ - std::max(Duration(), clock_() - now);
  if (absl::IsCancelled(read.status())) return read.status();
  if (!read.ok()) {
    Fail(named, std::string(read.status().message()));
    return false;
  }
  report.kind = NameOf(read->kind);
  report.mended = read->mended;
  if (read->kind != FeedKind::kIndex) {
    RETURN_IF_ERROR(StageNews(now, &report));
    RETURN_IF_ERROR(SendNews(named, fetched, now, document, &report));
    report_(report);
    return report.new_pages + report.signals > 0;
  }
  // What an index names is polled each time, so it is read each time.
  document->etag.clear();
  document->last_modified.clear();
  if (named.depth == kMaxIndexDepth) {
    Fail(named, fmt::format("sitemap indexes are nested more than {} deep", kMaxIndexDepth),
         report);
    return false;
  }
  report_(report);
  return VisitChildren(named, fetched, children);
}

absl::StatusOr<FeedSummary> Poller::ReadEntries(const Named& named, const FetchResult& fetched,
                                                Instant until, DocumentReport* report,
                                                std::vector<std::string>* children) {
  RETURN_IF_ERROR(entries_->Clear());
  absl::Status kept;
  const auto look = [&](const FeedEntry& entry) {
    const uint64_t row = ++report->entries;
    if (!kept.ok() || Leave(named, row, entry, report)) return;
    if (entry.kind != FeedKind::kIndex) {
      kept = entries_->Append(row, entry);
    } else if (children->size() <= options_.max_documents) {
      children->push_back(entry.url);
    }
  };
  const std::unique_ptr<cli::ByteSource> bytes = body_->Read();
  const TextSource watched = [&](std::string* out) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(kept);
    if (options_.fetch.cancelled()) return Stopped();
    if (clock_() >= until) return absl::DeadlineExceededError(TookTooLong(options_.site_timeout));
    return bytes->Read(out);
  };
  auto summary = ReadDocumentText(watched, {.url = fetched.url, .charset = fetched.charset}, look);
  RETURN_IF_ERROR(kept);
  return summary;
}

// A page that is listed twice is staged, and so sent, once.
absl::Status Poller::StageNews(Instant now, DocumentReport* report) {
  RETURN_IF_ERROR(state_.Forget());
  const absl::Status staged =
      entries_->ForEach([&](uint64_t row, const FeedEntry& entry)
                            FRESHET_REQUIRES(turn_) { return TakeEntry(row, entry, now, report); });
  if (!staged.ok()) (void)state_.Forget();
  return staged;
}

absl::StatusOr<bool> Poller::TakeRobots(const Named& named, const FetchResult& fetched) {
  std::vector<std::string> children;
  DocumentReport report{.document = named.url, .kind = "robots"};
  if (fetched.outcome == Outcome::kFetched) {
    // Wherever a redirect has led, it speaks for the site that was asked.
    const std::string& base = SiteOf(fetched.url) == SiteOf(named.url) ? fetched.url : named.url;
    const auto bytes = body_->Read();
    auto named_there = SitemapsOfRobots([&bytes](std::string* out) { return bytes->Read(out); },
                                        base, options_.max_documents + 1);
    if (!named_there.ok()) {
      Fail(named, std::string(named_there.status().message()));
      return false;
    }
    children = *std::move(named_there);
  }
  report.entries = children.size();
  uint64_t row = 0;
  std::erase_if(children, [&](const std::string& url) {
    const absl::StatusOr<SiteUrl> site = ParseSiteUrl(url);
    return Leave(named, ++row,
                 {.url = url, .why = site.ok() ? "" : std::string(site.status().message())},
                 &report);
  });
  report_(report);
  if (report.entries == 0) children.push_back(OriginOf(named.url) + "/sitemap.xml");
  return VisitChildren(named, fetched, children);
}

// The ones that were left longest come first, so that each has its turn where there is not time for
// all.
absl::StatusOr<std::vector<Poller::Named>> Poller::ChildrenOf(
    const Named& named, const FetchResult& fetched, const std::vector<std::string>& urls) {
  std::vector<std::pair<Instant, Named>> sorted;
  for (const std::string& url : urls) {
    Named child = ChildOf(named, fetched, url);
    ASSIGN_OR_RETURN(const DocumentState document, Find(KeyOf(child)));
    sorted.emplace_back(document.polled, std::move(child));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Named> children;
  for (auto& [polled, child] : sorted) children.push_back(std::move(child));
  return children;
}

absl::StatusOr<bool> Poller::VisitChildren(const Named& named, const FetchResult& fetched,
                                           const std::vector<std::string>& urls) {
  ASSIGN_OR_RETURN(const std::vector<Named> children, ChildrenOf(named, fetched, urls));
  bool changed = false;
  for (const Named& child : children) {
    if (visited_.size() >= options_.max_documents) {
      Fail(named,
           fmt::format("leads to more than {} documents in all: the rest of them is not fetched",
                       options_.max_documents));
      break;
    }
    if (site_left_ <= Duration()) {
      Fail(named, TookTooLong(options_.site_timeout));
      break;
    }
    if (site_pages_ >= options_.site_pages) {
      Fail(named, AddedTooMany(options_.site_pages));
      break;
    }
    const bool foreign = child.site != SiteOf(child.url);
    if (foreign && foreign_ == kMaxForeignDocuments) {
      Fail(named,
           fmt::format(
               "leads to more than {} documents at other hosts: the next polls fetch the rest",
               kMaxForeignDocuments));
      break;
    }
    foreign_ += foreign ? 1 : 0;
    ASSIGN_OR_RETURN(const bool news, Visit(child));
    changed = changed || news;
  }
  return changed;
}

absl::Status Poller::SendNews(const Named& named, const FetchResult& fetched, Instant now,
                              DocumentState* document, DocumentReport* report) {
  const auto send = [&](uint64_t row, const FeedEntry& entry)
                        FRESHET_REQUIRES(turn_) -> absl::Status {
    ASSIGN_OR_RETURN(const bool sent, SendEntry(row, entry, now, report));
    return sent ? absl::OkStatus() : absl::UnavailableError("the connection is lost");
  };
  absl::Status status = entries_->ForEach(send);
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
  // What was left for another time, or on the word of somebody else, would not be seen again if the
  // document were not.
  const bool all = receipt->again.empty() && report->future == 0 && report->other_hosts == 0;
  document->etag = all ? fetched.etag : "";
  document->last_modified = all ? fetched.last_modified : "";
  return state_.Commit(KeyOf(named), *document);
}

absl::Status Poller::TakeEntry(uint64_t row, const FeedEntry& entry, Instant now,
                               DocumentReport* report) {
  Instant modified;
  if (absl::IsNotFound(entry.modified.status())) {
    ++report->undated;
  } else if (!entry.modified.ok() || entry.modified->told < kEarliestDate) {
    ++report->unreadable;
  } else if (entry.modified->earliest > now + kMaxDateAhead) {
    ++report->future;
  } else {
    modified = entry.modified->told;
  }
  ASSIGN_OR_RETURN(const KnownPage page, state_.FindPage(entry.url));
  // Of a page that is listed twice the latest date counts.
  if (page.staged ? modified <= page.staged->modified : page.known && modified <= page.modified) {
    return absl::OkStatus();
  }
  return state_.Stage(row, entry.url, modified);
}

absl::StatusOr<bool> Poller::SendEntry(uint64_t row, const FeedEntry& entry, Instant now,
                                       DocumentReport* report) {
  ASSIGN_OR_RETURN(const KnownPage page, state_.FindPage(entry.url));
  if (!page.staged || page.staged->row != row) return true;
  ++(page.known ? report->signals : report->new_pages);
  if (!page.known) site_pages_ += 1 + (entry.url.size() - 1) / kUrlBytesPerPage;
  return page.known ? sender_.SendSignal(row, entry, ChangeOf(*entry.modified, now))
                    : sender_.SendPage(row, entry);
}

}  // namespace freshet::sitemap
