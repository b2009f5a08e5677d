#include "server/api/frontier_adoption.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "server/api/faults.h"
#include "server/api/scheduled_crawls.h"
#include "server/api/url_pages.h"
#include "server/api/urls_of_queue.h"
#include "server/base/frontier_limits.h"
#include "server/engine/crawls.h"
#include "server/frontier/frontier_scan.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// Adopts the URLs of one crawl id. One step runs at a time.
class Adoption : public std::enable_shared_from_this<Adoption> {
 public:
  Adoption(const ServerContext& context, const std::string& crawl_id)
      : context_(context),
        crawl_id_(crawl_id),
        scan_(*context.frontier, {.crawl = crawl_id, .key = {}, .filter = {}}) {}

  void GoOn() {
    (void)context_.background.Post([self = shared_from_this()] { self->Slice(); });
  }

 private:
  using Parts = std::vector<UrlsOfQueue>;
  // A URL, and the event that makes its page.
  struct Adopted {
    FrontierQueueId queue;
    std::string key;
    std::string url;
    RoutedEvent page;
  };
  using All = std::vector<Adopted>;

  void Slice() {
    if (context_.crawls.modes()->Of(crawl_id_) == FrontierMode::kDates) return;
    Parts parts;
    const Status status =
        scan_.Slice(limits::kFrontierSlice, [&parts](const FrontierScan::Found& found) {
          if (found.item.due > 0) AddUrl(found.queue, found.key, found.url, &parts);
          return true;
        });
    if (!status.ok()) return Fail(status);
    if (parts.empty()) return EndSlice();
    // The next slice starts when these pages are durable.
    Adopt(std::move(parts));
  }

  void Fail(const Status& status) {
    spdlog::error("frontier: URLs of crawl id {} do not become pages: {}", crawl_id_,
                  std::string(status.message()));
  }

  // Makes pages of the URLs, except those deleted since the scan. If a URL is deleted later, the
  // frontier does so in a later step, and the removal arrives after the page.
  void Adopt(Parts parts) {
    context_.frontier->Run<All>([self = shared_from_this(), parts = std::move(parts)](
                                    FrontierState& state) { return self->Pages(state, parts); },
                                [self = shared_from_this()](StatusOr<All> all) {
                                  if (!all.ok()) return self->Fail(all.status());
                                  if (all->empty()) return self->EndSlice();
                                  self->Submit(*std::move(all));
                                });
  }

  StatusOr<All> Pages(FrontierState& state, const Parts& parts) {
    All all;
    const FrontierMode mode = context_.crawls.modes()->Of(crawl_id_);
    for (const UrlsOfQueue& part : parts) {
      ASSIGN_OR_RETURN(std::vector<std::string> urls, state.Waiting(part.queue, part.urls));
      for (std::string& url : urls) {
        std::optional<FrontierName> name = PageOfUrl(mode, crawl_id_, part.key, url);
        if (!name) {
          ++left_out_;
          continue;
        }
        const Slot slot = SlotOfHost(name->key);
        UpsertPage upsert = {.key = {.crawl_id = crawl_id_, .url = std::move(name->url)},
                             .host = std::move(name->key)};
        all.push_back({.queue = part.queue,
                       .key = part.key,
                       .url = std::move(url),
                       .page = {.slot = slot, .event = std::move(upsert), .notes = {}}});
      }
    }
    return all;
  }

  void Submit(All all) {
    std::vector<RoutedEvent> events;
    for (Adopted& one : all) events.push_back(std::move(one.page));
    (void)context_.url_pages.Submit(
        std::move(events),
        [self = shared_from_this(), all = std::move(all)](const std::vector<Reply>& replies) {
          Parts again;
          for (size_t i = 0; i < replies.size(); ++i) {
            const Status& status = replies[i].status;
            if (MayComeAgain(status)) {
              AddUrl(all[i].queue, all[i].key, all[i].url, &again);
            } else {
              ++(status.ok() ? self->pages_ : self->left_out_);
            }
          }
          if (again.empty()) return self->EndSlice();
          self->context_.url_pages.Later([self, again = std::move(again)] { self->Adopt(again); });
        });
  }

  void EndSlice() {
    if (!scan_.over()) return GoOn();
    spdlog::info("frontier: of the URLs of crawl id {1}, {0} became pages and {2} did not", pages_,
                 crawl_id_, left_out_);
  }

  const ServerContext& context_;
  const std::string crawl_id_;
  FrontierScan scan_;
  uint64_t pages_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace

void AdoptUrls(const ServerContext& context, const std::string& crawl_id) {
  std::make_shared<Adoption>(context, crawl_id)->GoOn();
}

}  // namespace freshet
