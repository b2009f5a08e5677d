// Sends the pages, and the results of sitemap polls, to the server.
#ifndef FRESHET_LAB_DEMO_FEEDER_H_
#define FRESHET_LAB_DEMO_FEEDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lab/demo/connection.h"
#include "lab/demo/poll_plan.h"
#include "lab/demo/stop.h"
#include "lab/demo/truth.h"
#include "sync/mutex.h"

namespace freshet::demo {

// Sends page updates on one stream and signals on another, with a limited number of batches in
// flight. Like a real poller, it waits until a poll is acknowledged before it makes the next poll.
//
// Only one thread at a time may call it, except for polled_until_micros, TakeKnown and Cancel.
// Thread-compatible.
class Feeder {
 public:
  // All arguments outlive the feeder. Polls start after `polled_until_micros`.
  Feeder(Connection& connection, const ReplayedHistory& replayed, int64_t polled_until_micros,
         NowMicros now, Stop& stop);

  // Adds the pages of earlier polls that the server does not know. Pages that exist from the start
  // count as crawled at the start. Then makes the polls of the history when they are due, until the
  // history or the replay ends. Each poll first adds new pages, then sends a signal for every other
  // touched page. A failure stops the replay. `known` has one entry for each page of the history.
  void Run(const std::vector<bool>& known);

  // The wall time up to which all results of polls are acknowledged.
  [[nodiscard]] int64_t polled_until_micros() const { return polled_until_; }

  // Returns the polls acknowledged since the last call, in order.
  [[nodiscard]] std::vector<KnownPoll> TakeKnown();

  // Ends the streams immediately.
  void Cancel();

 private:
  Status AddMissing(const std::vector<bool>& known);
  Status RunPolls();
  // Makes a batch of pages, which starts with the page at `first`.
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
  size_t unanswered_upserts_ = 0;  // in batches
  size_t unanswered_signals_ = 0;
  Mutex mutex_;
  std::vector<KnownPoll> known_ FRESHET_GUARDED_BY(mutex_);  // polls not returned yet
  grpc::ClientContext upsert_context_;
  grpc::ClientContext signal_context_;
  const std::unique_ptr<UpsertStream> upserts_;
  const std::unique_ptr<SignalStream> signals_;
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_FEEDER_H_
