#include "server/indexnow/telling.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "server/api/batch.h"
#include "server/api/faults.h"
#include "server/api/from_proto.h"
#include "server/base/limits.h"
#include "server/config.h"
#include "server/engine/routed_event.h"

namespace freshet {
namespace {

constexpr size_t kBatch = limits::kMaxItemsPerMessage;

StatusOr<std::vector<RoutedEvent>> SignalsOf(const ServerContext& context,
                                             const std::vector<std::string>& urls,
                                             const PollOrigin& poll, Instant now) {
  std::vector<RoutedEvent> events;
  events.reserve(urls.size());
  v1::ChangeSignal signal;
  signal.set_source(kIndexNowSource);
  signal.set_crawl_id(context.config.indexnow.crawl_id);
  for (const std::string& url : urls) {
    signal.set_url(url);
    ASSIGN_OR_RETURN(RoutedEvent event, ConvertSignal(signal, context.sources, now));
    events.push_back(std::move(event));
  }
  // The whole list is one poll. Each part of it states the size of the whole list.
  SetPolls(poll, &events);
  return events;
}

// The work on one ping, a batch at a time. Thread-compatible.
class Telling : public std::enable_shared_from_this<Telling> {
 public:
  Telling(const ServerContext& context, std::vector<std::string> urls,
          std::vector<RoutedEvent> signals, Told done)
      : context_(context),
        urls_(std::move(urls)),
        signals_(std::move(signals)),
        done_(std::move(done)) {}

  // Sends the signals from `start` on, and then creates unknown pages.
  void SignalFrom(size_t start) {
    if (start == signals_.size()) return CreateFrom(0);
    const auto begin = signals_.begin() + static_cast<std::ptrdiff_t>(start);
    const size_t size = std::min(kBatch, signals_.size() - start);
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    (void)context_.router.Submit(
        {std::make_move_iterator(begin), std::make_move_iterator(end)},
        [self = shared_from_this(), start](const std::vector<Reply>& replies) {
          for (size_t i = 0; i < replies.size(); ++i) {
            self->CountSignal(start + i, replies[i].status);
          }
          self->SignalFrom(start + replies.size());
        });
  }

 private:
  void CountSignal(size_t place, const Status& status) {
    if (status.ok()) {
      ++counts_.applied;
      return;
    }
    ++context_.counters.signals_refused;
    if (absl::IsNotFound(status)) {
      ++counts_.unknown;
      unknown_.push_back(place);
    } else {
      ++counts_.refused;
      if (MayComeAgain(status)) counts_.busy = status;
    }
  }
  // Creates the unknown pages from `next` on.
  void CreateFrom(size_t next) {
    if (!context_.config.indexnow.create_pages) next = unknown_.size();
    const Instant now = context_.clock.Now();
    std::vector<RoutedEvent> events;
    v1::PageSpec page;
    page.set_crawl_id(context_.config.indexnow.crawl_id);
    for (; next < unknown_.size() && events.size() < kBatch; ++next) {
      page.set_url(urls_[unknown_[next]]);
      if (!CheckUrlSize(page.url(), context_.config).ok()) continue;
      StatusOr<RoutedEvent> event = ConvertPage(page, false, now);
      if (event.ok()) events.push_back(*std::move(event));
    }
    if (events.empty()) return done_(std::move(counts_));
    (void)context_.router.Submit(
        std::move(events), [self = shared_from_this(), next](const std::vector<Reply>& replies) {
          for (const Reply& reply : replies) self->CountCreation(reply.status);
          self->CreateFrom(next);
        });
  }
  void CountCreation(const Status& status) {
    if (status.ok()) {
      ++context_.counters.upserts_applied;
      ++counts_.created;
      --counts_.unknown;
    } else {
      ++context_.counters.upserts_refused;
      if (MayComeAgain(status)) counts_.busy = status;
    }
  }

  const ServerContext& context_;
  const std::vector<std::string> urls_;
  std::vector<RoutedEvent> signals_;
  const Told done_;
  std::vector<size_t> unknown_;
  PingCounts counts_;
};

}  // namespace

void CountSent(const ServerContext& context, uint64_t signals, Instant now) {
  if (const std::optional<uint8_t> source = context.sources.Find(kIndexNowSource)) {
    (void)context.sources.TakeSignals(*source, signals, now);
  }
}

void TellPages(const ServerContext& context, std::vector<std::string> urls, uint64_t poll_size,
               uint64_t serial, Told done) {
  const Instant now = context.clock.Now();
  StatusOr<std::vector<RoutedEvent>> signals = SignalsOf(
      context, urls, {.size = poll_size, .name = fmt::format("indexnow {}", serial)}, now);
  if (!signals.ok()) return done(signals.status());
  CountSent(context, urls.size(), now);
  std::make_shared<Telling>(context, std::move(urls), *std::move(signals), std::move(done))
      ->SignalFrom(0);
}

}  // namespace freshet
