#include "tools/sitemap/poller.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/safe_text.h"
#include "core/base/status.h"
#include "core/base/url.h"
#include "tools/sitemap/document.h"

namespace freshet::sitemap {
namespace {

using Outcome = FetchResult::Outcome;
using Result = DocumentReport::Result;

constexpr size_t kShownUrlBytes = 200;

// Returns why the server would refuse the URL; "" = it would take it.
std::string WhyNoPage(const std::string& url) {
  const Status status = Canonicalise(url).status();
  if (status.ok()) return "";
  std::string why(status.message());
  constexpr std::string_view kField = "url: ";
  if (why.starts_with(kField)) why.erase(0, kField.size());
  return "its URL " + why;
}

bool IsUrl(std::string_view text) { return text.find("://") != std::string_view::npos; }

// Returns the origin of a site. The time of the site's next poll is stored under it.
std::string OriginOf(const std::string& url) {
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(url);
  return site.ok() ? site->origin : url;
}

// Reads a file and returns the result as if it had been fetched.
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
    // One byte too many is enough to make the reader of the spool fail. Nothing more is read,
    // because the input can be endless.
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

// Returns true if the answer means that there are no rules (RFC 9309): 404 and similar, or endless
// redirects.
bool IsWithoutRobots(const FetchResult& result) {
  return result.too_many_redirects ||
         (result.outcome != Outcome::kFetched && result.status >= 400 && result.status < 500 &&
          !result.retry_after);
}

// Makes a foreign URL safe for a line of a report.
std::string Shown(std::string_view url) {
  return CutText(SafeText(url.substr(0, kShownUrlBytes + 1)), kShownUrlBytes);
}

absl::Status Stopped() { return absl::CancelledError("stopped by a signal"); }

std::string TooManyForeign() {
  return fmt::format(
      "leads to more than {} documents at other hosts: the next polls fetch the rest",
      kMaxForeignDocuments);
}

std::string AskedToWait(Duration wait) {
  return fmt::format("the site asked for a wait of another {:.0f} s (Retry-After)", wait.seconds());
}

std::string AnnouncedTooMany(uint64_t most) {
  return fmt::format(
      "the site has announced {} pages in this poll, new ones and newer dates (a URL counts once "
      "for each {} bytes): the rest is left for another time",
      most, kUrlBytesPerPage);
}

}  // namespace

std::string PossibleLastModified(const std::string& value, Instant fetched) {
  const absl::StatusOr<FeedDate> date = ParseFeedDate(value);
  return date.ok() && date->told >= kEarliestDate && date->told <= fetched ? value : "";
}

Poller::Poller(PollerOptions options, PollState& state, MakeSender make_sender, Turn& turn,
               std::function<Instant()> clock, std::function<void(const DocumentReport&)> report)
    : options_(std::move(options)),
      state_(state),
      make_sender_(std::move(make_sender)),
      clock_(std::move(clock)),
      turn_(turn, clock_, options_.site_timeout, options_.fetch.cancelled),
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

// A document that was named by another site has separate state, so that polls for one site do not
// affect those for another.
DocumentKey Poller::KeyOf(const Named& named) { return {named.site, named.url}; }

Poller::Named Poller::ChildOf(const Named& named, const FetchResult& fetched, std::string url) {
  // A file on this machine has no site. Each document that it names may name pages of that
  // document's own site, as if the operator had named the document.
  std::string site = named.site.empty() ? SiteOf(url) : named.site;
  return {.url = std::move(url),
          .site = std::move(site),
          .only_public = named.only_public || fetched.from_public,
          .depth = named.depth + (named.robots ? 0 : 1),
          .child = true};
}

absl::StatusOr<Instant> Poller::Due(const std::string& argument) {
  turn_.Lock();
  const absl::StatusOr<DocumentState> document = Find(KeyOf(FirstOf(argument)));
  turn_.Unlock();
  RETURN_IF_ERROR(document.status());
  return document->next;
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
  turn_.Lock();
  turn_.Begin();
  stage_ = state_.NewStage();
  input_ = input;
  visited_.clear();
  foreign_ = 0;
  site_pages_ = 0;
  bounded_.clear();
  tally_ = {};
  absl::Status status = Visit(FirstOf(argument)).status();
  if (tally_.untold + tally_.unlisted > 0) options_.untold(argument, tally_);
  turn_.Unlock();
  return status;
}

void Poller::Fail(const Named& named, std::string why, DocumentReport report) {
  report.document = named.url;
  if (named.robots) report.kind = "robots";
  report.result = Result::kFailed;
  report.why = std::move(why);
  Report(std::move(report));
}

void Poller::Report(DocumentReport report) {
  tally_.Take(&report);
  report_(report);
}

bool Poller::MayNamePage(const Named& named, const std::string& site) const {
  return options_.other_hosts || named.site.empty() || named.site == site;
}

// The robots.txt of a site can name sitemaps on any host, but those sitemaps may name only the
// site's own pages.
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
  } else if (!document && !(why = WhyNoPage(entry.url)).empty()) {
    // The server would refuse this entry, but the state would keep it, so it is left out.
    ++report->bad_urls;
  } else if (document && report->name_bytes + entry.url.size() > kMaxNamesBytes) {
    ++report->bad_urls;
    why = fmt::format("with it, URLs of documents have more than {} MiB", kMaxNamesBytes >> 20);
  } else {
    report->name_bytes += document ? entry.url.size() : 0;
    return false;
  }
  if (report->left_out.size() < kMaxNamedLeftOut) {
    report->left_out.push_back(entry.url.empty()
                                   ? fmt::format("entry {}: {}", row, why)
                                   : fmt::format("entry {}: {}: {}", row, Shown(entry.url), why));
  }
  return true;
}

Poller::Found Poller::Look(const Named& named, const DocumentState& document, Instant now) {
  Found found{.report = {.document = named.url}};
  turn_.Without([&] {
    found.fetched = FetchOrRead(named, document, now);
    if (found.fetched.outcome != Outcome::kFetched) return found.fetched.elapsed;
    found.read_at = clock_();
    const Instant until = found.read_at + turn_.left() - found.fetched.elapsed;
    found.read = ReadEntries(named, until, &found);
    return found.fetched.elapsed + std::max(Duration(), clock_() - found.read_at);
  });
  return found;
}

std::string Poller::WhyNotTo(const Named& named, const std::string& from, const std::string& to,
                             Instant now) {
  const std::string site = SiteOf(to);
  if (site == SiteOf(from) || site == named.site) return "";
  if (foreign_ == kMaxForeignDocuments) return TooManyForeign();
  ++foreign_;
  turn_.Lock();
  const absl::StatusOr<Instant> wait =
      state_.FindWait(named.site, OriginOf(to), now + kMaxRetryAfter);
  turn_.Unlock();
  if (!wait.ok() || *wait <= now) return "";
  return "it leads to another site: " + AskedToWait(*wait - now);
}

absl::Status Poller::MakeFiles() {
  if (body_) return absl::OkStatus();
  ASSIGN_OR_RETURN(entries_, EntryFile::Create());
  ASSIGN_OR_RETURN(body_, Spool::Create());
  return absl::OkStatus();
}

FetchResult Poller::FetchOrRead(const Named& named, const DocumentState& document, Instant now) {
  // Only the operator may name files. Documents may name only URLs.
  const bool fetch = named.child || IsUrl(named.url);
  FetchOptions options = options_.fetch;
  options.timeout = std::min(options.timeout, turn_.left());
  if (const absl::Status made = MakeFiles(); !made.ok()) {
    return {.outcome = Outcome::kFailed, .why = std::string(made.message())};
  }
  FetchResult result =
      fetch ? Fetch({.url = named.url,
                     // If the document was once on a public site, only public addresses are
                     // allowed. Since then, the owners of the site's domain could have pointed it
                     // at a private address.
                     .only_public = named.only_public || document.site_public,
                     .etag = document.etag,
                     .last_modified = PossibleLastModified(document.last_modified, now),
                     .why_not = [&](const auto& from,
                                    const auto& to) { return WhyNotTo(named, from, to, now); }},
                    options, *body_)
            : ReadFile(named.url, input_, *body_);
  result.last_modified = PossibleLastModified(result.last_modified, clock_());
  return result;
}

absl::StatusOr<bool> Poller::Visit(const Named& named) {
  if (options_.fetch.cancelled()) return Stopped();
  if (!visited_.insert(std::hash<std::string>()(named.url)).second) return false;
  ASSIGN_OR_RETURN(DocumentState document, Find(KeyOf(named)));
  const Instant now = clock_();
  if (!options_.dry_run && bounded_.insert(named.site).second) {
    RETURN_IF_ERROR(state_.KeepDocuments(named.site, options_.most_remembered, now));
  }
  ASSIGN_OR_RETURN(const Instant site_wait,
                   state_.FindWait(named.site, OriginOf(named.url), now + kMaxRetryAfter));
  if (options_.only_due && named.child && now < document.next) return false;
  if (const Instant asked = std::max(site_wait, document.not_before); now < asked) {
    Fail(named, "not fetched: " + AskedToWait(asked - now));
    document.next = asked;
    if (!options_.dry_run) RETURN_IF_ERROR(state_.PutDocument(KeyOf(named), document));
    return false;
  }
  Found found = Look(named, document, now);
  const FetchResult& fetched = found.fetched;
  if (options_.fetch.cancelled()) return Stopped();
  document.site_public |= fetched.site_public;
  ASSIGN_OR_RETURN(const bool changed, Take(named, found, &document));
  // No state is kept for missing documents, because a site can name any number of them.
  const bool nowhere =
      fetched.outcome == Outcome::kNotThere || fetched.outcome == Outcome::kRefused;
  const bool forgotten = named.child && nowhere && document.polled == Instant();
  if (options_.dry_run || forgotten) return changed;
  document.polled = now;
  document.interval = NextInterval(options_.intervals, document.interval, changed);
  document.next = NextPoll(now, document.interval, named.url);
  if (fetched.retry_after) {
    // The wait applies to the site that asks for it, which is the one at the end of all redirects.
    // It also applies to the document that led there.
    document.not_before = now + *fetched.retry_after;
    document.next = std::max(document.next, document.not_before);
    RETURN_IF_ERROR(state_.PutDocument({named.site, OriginOf(fetched.url)},
                                       {.not_before = document.not_before}));
  }
  RETURN_IF_ERROR(state_.PutDocument(KeyOf(named), document));
  return changed;
}

absl::StatusOr<bool> Poller::Take(const Named& named, Found& found, DocumentState* document) {
  const FetchResult& fetched = found.fetched;
  if (named.robots && (fetched.outcome == Outcome::kFetched || IsWithoutRobots(fetched))) {
    return TakeRobots(named, found);
  }
  if (fetched.outcome == Outcome::kNotModified) {
    Report({.document = named.url, .result = Result::kUnchanged});
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
  return TakeDocument(named, found, document);
}

absl::StatusOr<bool> Poller::TakeDocument(const Named& named, Found& found,
                                          DocumentState* document) {
  DocumentReport& report = found.report;
  if (absl::IsCancelled(found.read.status())) return found.read.status();
  if (!found.read.ok()) {
    Fail(named, std::string(found.read.status().message()));
    return false;
  }
  report.kind = NameOf(found.read->kind);
  report.mended = found.read->mended;
  if (found.read->kind == FeedKind::kIndex) return TakeIndex(named, found, document);
  DocumentNews news(state_, stage_, *entries_, clock_, found.read_at, &report);
  const absl::StatusOr<DocumentNews::Counts> staged = news.Stage(turn_);
  absl::StatusOr<bool> taken = staged.ok() ? absl::StatusOr<bool>(true) : staged.status();
  if (staged.ok() && staged->pages + staged->signals > 0) {
    const std::unique_ptr<Sender> sender = make_sender_(staged->signals);
    taken = news.Send(*sender, !options_.dry_run, &piece_, turn_);
  }
  site_pages_ += news.announced();
  state_.Forget(stage_);
  if (!taken.ok()) {
    // The site's time is used up, or there is no space for temporary files. Other sites can
    // continue.
    const bool goes_on =
        absl::IsDeadlineExceeded(taken.status()) || absl::IsResourceExhausted(taken.status());
    if (!goes_on) tally_.complaints = 0;
    if (!absl::IsCancelled(taken.status())) {
      Fail(named, std::string(taken.status().message()), report);
    }
    if (!goes_on) return taken.status();
  }
  // Validators are kept only if all entries were taken. Otherwise the next poll must read the
  // document again, because entries were left for later or name other hosts.
  const bool all = taken.ok() && *taken && report.future == 0 && report.other_hosts == 0;
  document->etag = all ? found.fetched.etag : "";
  document->last_modified = all ? found.fetched.last_modified : "";
  if (taken.ok()) Report(report);
  return report.new_pages + report.signals > 0;
}

absl::StatusOr<bool> Poller::TakeIndex(const Named& named, Found& found, DocumentState* document) {
  // An index is always read, because each poll visits its documents.
  document->etag.clear();
  document->last_modified.clear();
  if (named.depth == kMaxIndexDepth) {
    Fail(named, fmt::format("sitemap indexes are nested more than {} deep", kMaxIndexDepth),
         found.report);
    return false;
  }
  Report(found.report);
  return VisitChildren(named, found.fetched, std::move(found.children));
}

absl::StatusOr<FeedSummary> Poller::ReadEntries(const Named& named, Instant until, Found* found) {
  RETURN_IF_ERROR(entries_->Clear());
  absl::Status kept;
  const auto look = [&](const FeedEntry& entry) {
    const uint64_t row = ++found->report.entries;
    if (!kept.ok() || found->children.size() > options_.max_documents) return;
    if (Leave(named, row, entry, &found->report)) return;
    if (entry.kind != FeedKind::kIndex) kept = entries_->Append(row, entry);
    if (entry.kind == FeedKind::kIndex) found->children.push_back(entry.url);
  };
  const std::unique_ptr<cli::ByteSource> bytes = body_->Read();
  const TextSource watched = [&](std::string* out) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(kept);
    if (options_.fetch.cancelled()) return Stopped();
    if (clock_() >= until) return turn_.OutOfTime();
    return bytes->Read(out);
  };
  const FetchResult& fetched = found->fetched;
  if (named.robots) {
    // A robots.txt belongs to the requested site, wherever a redirect leads.
    const std::string& base = SiteOf(fetched.url) == SiteOf(named.url) ? fetched.url : named.url;
    ASSIGN_OR_RETURN(found->children, SitemapsOfRobots(watched, base, options_.max_documents + 1));
    return FeedSummary();
  }
  auto summary = ReadDocumentText(watched, {.url = fetched.url, .charset = fetched.charset}, look);
  RETURN_IF_ERROR(kept);
  // Frees disk space for the staged entries.
  RETURN_IF_ERROR(body_->Clear());
  return summary;
}

absl::StatusOr<bool> Poller::TakeRobots(const Named& named, Found& found) {
  if (found.fetched.outcome == Outcome::kFetched && !found.read.ok()) {
    Fail(named, std::string(found.read.status().message()));
    return false;
  }
  std::vector<std::string>& children = found.children;
  DocumentReport& report = found.report;
  report.kind = "robots";
  report.entries = children.size();
  uint64_t row = 0;
  std::erase_if(children, [&](const std::string& url) {
    const absl::StatusOr<SiteUrl> site = ParseSiteUrl(url);
    return Leave(named, ++row,
                 {.url = url, .why = site.ok() ? "" : std::string(site.status().message())},
                 &report);
  });
  Report(report);
  if (report.entries == 0) children.push_back(OriginOf(named.url) + "/sitemap.xml");
  return VisitChildren(named, found.fetched, std::move(children));
}

// Begins with the documents that have waited longest for a poll, so that each is polled even if
// time is short.
absl::StatusOr<std::vector<Poller::Named>> Poller::ChildrenOf(const Named& named,
                                                              const FetchResult& fetched,
                                                              std::vector<std::string> urls) {
  std::vector<std::pair<Instant, Named>> sorted;
  for (std::string& url : urls) {
    Named child = ChildOf(named, fetched, std::move(url));
    ASSIGN_OR_RETURN(const DocumentState document, Find(KeyOf(child)));
    sorted.emplace_back(document.polled, std::move(child));
    if (sorted.size() % kMaxPiece == 0) turn_.Without([] { return Duration(); });
  }
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Named> children;
  for (auto& [polled, child] : sorted) children.push_back(std::move(child));
  return children;
}

absl::StatusOr<bool> Poller::VisitChildren(const Named& named, const FetchResult& fetched,
                                           std::vector<std::string> urls) {
  ASSIGN_OR_RETURN(const std::vector<Named> children, ChildrenOf(named, fetched, std::move(urls)));
  bool changed = false;
  for (const Named& child : children) {
    if (visited_.size() >= options_.max_documents) {
      Fail(named,
           fmt::format("leads to more than {} documents in all: the rest of them is not fetched",
                       options_.max_documents));
      break;
    }
    turn_.Charge();
    if (turn_.left() <= Duration()) {
      Fail(named, std::string(turn_.OutOfTime().message()));
      break;
    }
    if (site_pages_ >= options_.site_pages) {
      Fail(named, AnnouncedTooMany(options_.site_pages));
      break;
    }
    const bool foreign = child.site != SiteOf(child.url);
    if (foreign && foreign_ == kMaxForeignDocuments) {
      Fail(named, TooManyForeign());
      break;
    }
    foreign_ += foreign ? 1 : 0;
    ASSIGN_OR_RETURN(const bool news, Visit(child));
    changed = changed || news;
  }
  return changed;
}

}  // namespace freshet::sitemap
