#include "server/api/url_removal.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/url.h"
#include "server/api/scheduled_crawls.h"
#include "server/api/url_pages.h"
#include "server/engine/crawls.h"

namespace freshet {
namespace {

using Parts = std::vector<UrlsOfQueue>;
using Removed = std::function<void(StatusOr<uint64_t>)>;

// The events that remove the pages of these URLs, if they have any.
std::vector<RoutedEvent> RemovalsOf(FrontierMode mode, const std::string& crawl,
                                    const Parts& parts) {
  std::vector<RoutedEvent> events;
  for (const UrlsOfQueue& part : parts) {
    for (const std::string& url : part.urls) {
      const std::optional<FrontierName> name = PageOfUrl(mode, crawl, part.key, url);
      if (!name) continue;
      events.push_back({.slot = SlotOfHost(name->key), .event = RemovalOf(*name), .notes = {}});
    }
  }
  return events;
}

void ForgetEnded(const ServerContext& context, Parts parts, Removed done) {
  context.frontier->Run<uint64_t>(
      [parts = std::move(parts)](FrontierState& state) -> StatusOr<uint64_t> {
        uint64_t removed = 0;
        for (const UrlsOfQueue& part : parts) {
          ASSIGN_OR_RETURN(const uint64_t its, state.RemoveEnded(part.queue, part.urls));
          removed += its;
        }
        return removed;
      },
      std::move(done));
}

void RemovePages(const ServerContext& context, FrontierMode mode, const std::string& crawl,
                 Parts parts, Removed done) {
  std::vector<RoutedEvent> events = RemovalsOf(mode, crawl, parts);
  if (events.empty()) return ForgetEnded(context, std::move(parts), std::move(done));
  (void)context.url_pages.Submit(
      std::move(events), [&context, parts = std::move(parts),
                          done = std::move(done)](const std::vector<Reply>& replies) {
        const bool all = std::all_of(replies.begin(), replies.end(), [](const Reply& reply) {
          return reply.status.ok() || absl::IsNotFound(reply.status);
        });
        if (all) return ForgetEnded(context, parts, done);
        done(MakeStatus(absl::StatusCode::kUnavailable,
                        "the pages of some URLs cannot be removed at the moment: try again"));
      });
}

}  // namespace

void RemoveUrls(const ServerContext& context, const std::string& crawl, Parts parts,
                uint64_t before, Removed done) {
  struct Ended {
    FrontierMode mode = FrontierMode::kDates;
    uint64_t removed = 0;  // used for a crawl id without pages
    Parts parts;           // used for a crawl id with pages
  };
  context.frontier->Run<Ended>(
      [&context, crawl, parts = std::move(parts), before](FrontierState& state) -> StatusOr<Ended> {
        Ended ended = {.mode = context.crawls.modes()->Of(crawl)};
        for (const UrlsOfQueue& part : parts) {
          if (ended.mode == FrontierMode::kDates) {
            ASSIGN_OR_RETURN(const uint64_t its, state.RemoveOlder(part.queue, part.urls, before));
            ended.removed += its;
          } else {
            ASSIGN_OR_RETURN(std::vector<std::string> urls,
                             state.EndOlder(part.queue, part.urls, before));
            ended.parts.push_back({.queue = part.queue, .key = part.key, .urls = std::move(urls)});
          }
        }
        return ended;
      },
      [&context, crawl, done = std::move(done)](StatusOr<Ended> ended) {
        if (!ended.ok()) return done(ended.status());
        if (ended->mode == FrontierMode::kDates) return done(ended->removed);
        RemovePages(context, ended->mode, crawl, std::move(ended->parts), done);
      });
}

}  // namespace freshet
