// Takes in pings of IndexNow: each URL of a ping whose key is good is a signal of the source
// `indexnow`, also where the page was deleted, which its next crawl will find.
//
//   200  all is durable; the text says how many pages were known
//   202  the key is being looked up; what was sent waits for it in memory, and a stop loses it
//   400  no such request     403  the key is not the host's, or the caller is limited to others
//   405  not GET or POST     422  the URLs, the host and the key do not go together
//   429  too many of this client, of the source, or of what waits: Retry-After says when again
//   503  the server starts or stops, or the source is not registered
#ifndef FRESHET_SERVER_INDEXNOW_RECEIVER_H_
#define FRESHET_SERVER_INDEXNOW_RECEIVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/schedule/event.h"
#include "server/api/context.h"
#include "server/api/status.h"
#include "server/indexnow/key_book.h"
#include "server/indexnow/ping.h"
#include "server/ports/http_message.h"

namespace freshet {

inline constexpr const char* kIndexNowPath = "/indexnow";
inline constexpr const char* kIndexNowSource = "indexnow";

// Thread-safe.
class IndexNowReceiver {
 public:
  // `context` outlives this, and its shards run until Stop has returned.
  explicit IndexNowReceiver(const ServerContext& context);
  ~IndexNowReceiver() { Stop(); }
  IndexNowReceiver(const IndexNowReceiver&) = delete;
  IndexNowReceiver& operator=(const IndexNowReceiver&) = delete;

  // Waits until what was sent is durable, not for keys.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request);
  // From here on it takes nothing in. Idempotent.
  void Stop();
  [[nodiscard]] IndexNowStats stats() const;

 private:
  // What became of the URLs of a ping.
  struct Counts {
    uint64_t applied = 0;
    uint64_t unknown = 0;
    uint64_t created = 0;
    uint64_t refused = 0;
    Status busy;  // why some were refused that may be sent again
  };
  [[nodiscard]] HttpResponse Respond(const HttpRequest& request);
  // Not OK: the ping comes too early, or who sends it may not.
  [[nodiscard]] Status Admit(const Caller& caller, const Ping& ping, uint8_t source, Instant now,
                             Duration* wait);
  [[nodiscard]] StatusOr<Counts> Take(const std::vector<std::string>& urls);
  // Adds what becomes of the events.
  void Apply(std::vector<RoutedEvent> events, Counts* counts, std::vector<size_t>* unknown);
  void Create(const std::vector<std::string>& urls, const std::vector<size_t>& unknown,
              Counts* counts);
  void TakeLater(const std::vector<std::string>& urls, bool good);
  void Count(const Counts& counts);

  const ServerContext& context_;
  const IndexNowConfig& config_;
  KeyBook keys_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> serial_{0};
  IndexNowCounters counters_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_RECEIVER_H_
