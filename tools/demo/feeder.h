// Tells the server which pages there are and what the polls of their sitemap find.
#ifndef FRESHET_TOOLS_DEMO_FEEDER_H_
#define FRESHET_TOOLS_DEMO_FEEDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sync/mutex.h"
#include "tools/demo/connection.h"
#include "tools/demo/poll_plan.h"
#include "tools/demo/stop.h"
#include "tools/demo/truth.h"

namespace freshet::demo {

// One stream of page updates and one of signals, whose batches under way are bounded. A poll is
// acknowledged before the next one is made, as a poller of the world does.
//
// The calls belong to one thread at a time, but for polled_until_micros, TakeKnown and Cancel.
// Thread-compatible.
class Feeder {
 public:
  // Everything given outlives the feeder. Polls start after `polled_until_micros`.
  Feeder(Connection& connection, const ReplayedHistory& replayed, int64_t polled_until_micros,
         NowMicros now, Stop& stop);

  // Adds those of the pages of earlier polls that the server does not know, those that exist since
  // the start as crawled then. Then makes the polls of the history when they are due, until it is
  // over or stopped: new pages are added first, then a signal is sent for every other page that was
  // touched. A failure stops everything. `known` has one entry for each page of the history.
  void Run(const std::vector<bool>& known);

  // Wall time up to which everything that the polls found is acknowledged.
  [[nodiscard]] int64_t polled_until_micros() const { return polled_until_; }

  // The polls that were acknowledged since the call before, in order.
  [[nodiscard]] std::vector<KnownPoll> TakeKnown();

  // Ends the streams at once.
  void Cancel();

 private:
  Status AddMissing(const std::vector<bool>& known);
  Status RunPolls();
  // The batch of pages that starts at that position.
  v1::UpsertPagesRequest UpsertOf(const std::vector<uint32_t>& pages, size_t first);
  Status AddPages(const std::vector<uint32_t>& pages);
  Status ReadUpsertAck();
  [[nodiscard]] v1::ChangeSignal SignalOf(const TouchedPage& touched) const;
  Status SendSignals(const Poll& poll);
  Status ReadSignalAck();
  Status StreamLost();

  using UpsertStream = grpc::ClientReaderWriter<v1::UpsertPagesRequest, v1::UpsertPagesResponse>;
  using SignalStream =
      grpc::ClientReaderWriter<v1::SignalChangesRequest, v1::SignalChangesResponse>;

  const ReplayedHistory& replayed_;
  const NowMicros now_;
  Stop& stop_;
  PollPlan plan_;
  std::atomic<int64_t> polled_until_;
  uint64_t sequence_ = 0;
  size_t unanswered_upserts_ = 0;  // batches
  size_t unanswered_signals_ = 0;
  Mutex mutex_;
  std::vector<KnownPoll> known_ FRESHET_GUARDED_BY(mutex_);  // not taken yet
  grpc::ClientContext upsert_context_;
  grpc::ClientContext signal_context_;
  const std::unique_ptr<UpsertStream> upserts_;
  const std::unique_ptr<SignalStream> signals_;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_FEEDER_H_
