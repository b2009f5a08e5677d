// Receives pings of IndexNow. Each URL of a ping with a good key is a signal of the source
// `indexnow`; the next crawl finds out if the page was deleted. URLs of another division go to its
// server. This server also answers the pings that a standby of its cluster receives
// (server/forward/forwarded_pings.h).
//
//   200  all is durable; the text says how many pages were known
//   202  the key is being looked up; what was sent waits for it in memory, and a stop loses it
//   400  no such request     403  the key is not the host's, or the caller is limited to others
//   405  not GET or POST     422  the URLs, the host and the key do not go together
//   401, 404, 413  from the port of a standby alone: this server does not know the client, takes no
//        pings, or finds the body too large
//   429  too many of this client, of the source, or waiting: Retry-After says when to come again
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

// The receiver. Thread-safe.
class IndexNowReceiver {
 public:
  // `context` outlives this, and its shards run until Stop has returned.
  explicit IndexNowReceiver(const ServerContext& context);
  ~IndexNowReceiver() { Stop(); }
  IndexNowReceiver(const IndexNowReceiver&) = delete;
  IndexNowReceiver& operator=(const IndexNowReceiver&) = delete;

  // Answers a ping. Waits until the signals are durable, but not for keys.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request);
  // Answers a ping that came to a standby (ServerContext::answer_ping).
  void AnswerPassedOn(const v1::AnswerPingRequest& request, const Credentials& credentials,
                      std::function<void(StatusOr<v1::AnswerPingResponse>)> answered);
  // Takes URLs of a ping that came to another division (ServerContext::take_ping).
  void TakePassedOn(const v1::TakePingRequest& request,
                    std::function<void(StatusOr<v1::TakePingResponse>)> answered);
  // Refuses all pings from now on. Idempotent.
  void Stop();
  [[nodiscard]] IndexNowStats stats() const;

 private:
  using Answered = std::function<void(HttpResponse)>;
  // Answers once, on any thread, maybe before this returns.
  void Respond(const HttpRequest& request, const Credentials& credentials, Answered answered);
  // The ping of the request if it is valid; if not, the answer.
  [[nodiscard]] std::variant<Ping, HttpResponse> Admitted(const HttpRequest& request,
                                                          const Credentials& credentials);
  // Checks that the client may send the ping now. Not OK: it is too early, or the client may not
  // send it at all.
  [[nodiscard]] Status Admit(const Caller& caller, const Ping& ping, uint8_t source, Instant now,
                             Duration* wait);
  // Signals pages of one host to the division that has it.
  void Tell(const std::vector<std::string>& urls, Told done);
  void TellOwn(std::vector<std::string> urls, uint64_t poll_size, Told done);
  void PassOn(uint32_t division, const std::vector<std::string>& urls, Told done);
  // Whether to ask the division's server. If it did not answer lately, it is not asked, because
  // other pings wait for it.
  [[nodiscard]] bool MayPassOn(uint32_t division, Instant now) FRESHET_EXCLUDES(mutex_);
  void NotePassedOn(uint32_t division, const Status& status) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] StatusOr<PingCounts> TellAndWait(const std::vector<std::string>& urls);
  void TellLater(const std::vector<std::string>& urls, bool good);
  void Count(const PingCounts& counts);

  const ServerContext& context_;
  const IndexNowConfig& config_;
  KeyBook keys_;
  // Pings from standbys, which send one at a time.
  static constexpr size_t kMostPassedOn = 16;
  Slots passed_on_{kMostPassedOn};
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> serial_{0};
  IndexNowCounters counters_;
  Mutex mutex_;
  std::map<uint32_t, Instant> away_ FRESHET_GUARDED_BY(mutex_);  // when a division did not answer
};

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_RECEIVER_H_
