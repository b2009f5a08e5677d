// Takes in pings of IndexNow: each URL of a ping whose key is good is a signal of the source
// `indexnow`, also where the page was deleted, which its next crawl will find. What is of another
// division of a fleet is passed on to the server of that. Those that come to a standby of a cluster
// are answered here as well (server/forward/forwarded_pings.h).
//
//   200  all is durable; the text says how many pages were known
//   202  the key is being looked up; what was sent waits for it in memory, and a stop loses it
//   400  no such request     403  the key is not the host's, or the caller is limited to others
//   405  not GET or POST     422  the URLs, the host and the key do not go together
//   401, 404, 413  of what came to a standby alone, whose port says so of its own: who sends it is
//        not known here, no pings are taken here, it is too large
//   429  too many of this client, of the source, or of what waits: Retry-After says when again
//   503  the server starts or stops, the source is not registered, or nobody serves the division
#ifndef FRESHET_SERVER_INDEXNOW_RECEIVER_H_
#define FRESHET_SERVER_INDEXNOW_RECEIVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/base/status.h"
#include "server/api/context.h"
#include "server/api/status.h"
#include "server/auth/authoriser.h"
#include "server/base/slots.h"
#include "server/indexnow/key_book.h"
#include "server/indexnow/ping.h"
#include "server/indexnow/telling.h"
#include "server/ports/http_message.h"
#include "sync/mutex.h"

namespace freshet {

inline constexpr const char* kIndexNowPath = "/indexnow";

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
  // ServerContext::answer_ping.
  void AnswerPassedOn(const v1::AnswerPingRequest& request, const Credentials& credentials,
                      std::function<void(StatusOr<v1::AnswerPingResponse>)> answered);
  // ServerContext::take_ping.
  void TakePassedOn(const v1::TakePingRequest& request,
                    std::function<void(StatusOr<v1::TakePingResponse>)> answered);
  // From here on it takes nothing in. Idempotent.
  void Stop();
  [[nodiscard]] IndexNowStats stats() const;

 private:
  using Answered = std::function<void(HttpResponse)>;
  // Answers once, on any thread, maybe before this returns.
  void Respond(const HttpRequest& request, const Credentials& credentials, Answered answered);
  // The ping that the request is, which may be told of; else the answer.
  [[nodiscard]] std::variant<Ping, HttpResponse> Admitted(const HttpRequest& request,
                                                          const Credentials& credentials);
  // Not OK: the ping comes too early, or who sends it may not.
  [[nodiscard]] Status Admit(const Caller& caller, const Ping& ping, uint8_t source, Instant now,
                             Duration* wait);
  // Tells of pages of one host, whoever has it.
  void Tell(const std::vector<std::string>& urls, Told done);
  void TellOwn(std::vector<std::string> urls, uint64_t poll_size, Told done);
  void PassOn(uint32_t division, const std::vector<std::string>& urls, Told done);
  // Whether the server of that division is asked at all: other pings wait while one is passed on.
  [[nodiscard]] bool MayPassOn(uint32_t division, Instant now) FRESHET_EXCLUDES(mutex_);
  void NotePassedOn(uint32_t division, const Status& status) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] StatusOr<PingCounts> TellAndWait(const std::vector<std::string>& urls);
  void TellLater(const std::vector<std::string>& urls, bool good);
  void Count(const PingCounts& counts);

  const ServerContext& context_;
  const IndexNowConfig& config_;
  KeyBook keys_;
  // Of standbys, which send one at a time.
  static constexpr size_t kMostPassedOn = 16;
  Slots passed_on_{kMostPassedOn};
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> serial_{0};
  IndexNowCounters counters_;
  Mutex mutex_;
  std::map<uint32_t, Instant> away_ FRESHET_GUARDED_BY(mutex_);  // when they did not answer
};

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_RECEIVER_H_
