#include "server/api/frontier_adoption.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/base/frontier_limits.h"
#include "core/base/url.h"
#include "server/api/scheduled_crawls.h"
#include "server/api/url_pages.h"
#include "server/frontier/frontier_scan.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// One step of it runs at a time.
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
  void Slice() {
    const FrontierMode mode = context_.crawls.modes()->Of(crawl_id_);
    if (mode == FrontierMode::kDates) return;
    std::vector<RoutedEvent> events;
    const Status status =
        scan_.Slice(limits::kFrontierSlice, [&](const FrontierScan::Found& found) {
          Add(mode, found, &events);
          return true;
        });
    if (!status.ok()) {
      spdlog::error("frontier: URLs of crawl id {} do not become pages: {}", crawl_id_,
                    std::string(status.message()));
      return;
    }
    if (events.empty()) return EndSlice();
    // The next ones come when these are durable.
    Submit(std::move(events));
  }

  void Submit(std::vector<RoutedEvent> events) {
    const auto kept = std::make_shared<const std::vector<RoutedEvent>>(events);
    (void)context_.url_pages.Submit(
        std::move(events), [self = shared_from_this(), kept](const std::vector<Reply>& replies) {
          std::vector<RoutedEvent> again;
          for (size_t i = 0; i < replies.size(); ++i) {
            const Status& status = replies[i].status;
            // Only a division that cannot be told is waited for: limits are a verdict.
            if (absl::IsUnavailable(status)) {
              again.push_back((*kept)[i]);
            } else {
              ++(status.ok() ? self->pages_ : self->left_out_);
            }
          }
          if (again.empty()) return self->EndSlice();
          self->context_.url_pages.Later([self, again = std::move(again)] {
            if (self->context_.crawls.modes()->Of(self->crawl_id_) == FrontierMode::kDates) return;
            self->Submit(again);
          });
        });
  }

  void Add(FrontierMode mode, const FrontierScan::Found& found, std::vector<RoutedEvent>* events) {
    if (found.item.due == 0) return;
    StatusOr<FrontierName> name = ScheduledName(crawl_id_, std::string(found.url));
    const bool fits = name.ok() && (mode == FrontierMode::kShadow ||
                                    (name->url == found.url && name->key == found.key));
    if (!fits) {
      ++left_out_;
      return;
    }
    const Slot slot = SlotOfHost(name->key);
    UpsertPage upsert = {.key = {.crawl_id = crawl_id_, .url = std::move(name->url)},
                         .host = std::move(name->key)};
    events->push_back({.slot = slot, .event = std::move(upsert), .notes = {}});
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
