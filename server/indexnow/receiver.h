// Receives pings of IndexNow. Each URL of a ping with a good key becomes a signal of the source
// `indexnow`. If the page was deleted, its next crawl finds that out. URLs of another division are
// sent to that division's server. This server also answers the pings that standbys of its cluster
// receive (server/forward/forwarded_pings.h).
//
//   200  all signals are durable; the text says how many pages were known
//   202  the key is being looked up; the URLs wait for it in memory, and are lost at a stop
//   400  the ping is malformed or incomplete
//   403  the key is not one of the host, or the caller may not send this ping
//   405  the method is neither GET nor POST
//   422  the URLs, the host and the key do not match
//   401, 404, 413  only at the port of a standby: this server does not know the client, takes no
//        pings, or finds the body too large
//   429  too many requests of this client, signals of the source, or waiting pings; the header
//        Retry-After says when to try again
//   503  the server starts or stops, the source is not registered, or no server serves the division
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
  // `context` must outlive this object, and its shards must run until Stop has returned.
  explicit IndexNowReceiver(const ServerContext& context);
  ~IndexNowReceiver() { Stop(); }
  IndexNowReceiver(const IndexNowReceiver&) = delete;
  IndexNowReceiver& operator=(const IndexNowReceiver&) = delete;

  // Answers a ping. Waits until its signals are durable, but does not wait for lookups of keys.
  [[nodiscard]] HttpResponse Answer(const HttpRequest& request);
  // Answers a ping that a standby has forwarded (ServerContext::answer_ping).
  void AnswerPassedOn(const v1::AnswerPingRequest& request, const Credentials& credentials,
                      std::function<void(StatusOr<v1::AnswerPingResponse>)> answered);
  // Takes URLs of a ping that the server of another division received (ServerContext::take_ping).
  void TakePassedOn(const v1::TakePingRequest& request,
                    std::function<void(StatusOr<v1::TakePingResponse>)> answered);
  // Refuses all pings from now on. Idempotent.
  void Stop();
  [[nodiscard]] IndexNowStats stats() const;

 private:
  using Answered = std::function<void(HttpResponse)>;
  // Calls `answered` once, on any thread, possibly before this method returns.
  void Respond(const HttpRequest& request, const Credentials& credentials, Answered answered);
  // Returns the ping if it is valid and its signals may be sent now; otherwise the answer to the
  // request.
  [[nodiscard]] std::variant<Ping, HttpResponse> Admitted(const HttpRequest& request,
                                                          const Credentials& credentials);
  // Checks that the client may send the ping now. PermissionDenied: the client may not send it at
  // all. Other errors: the client must wait for `wait`.
  [[nodiscard]] Status Admit(const Caller& caller, const Ping& ping, uint8_t source, Instant now,
                             Duration* wait);
  // Signals pages of one host to the division that owns the host.
  void Tell(const std::vector<std::string>& urls, Told done);
  void TellOwn(std::vector<std::string> urls, uint64_t poll_size, Told done);
  void PassOn(uint32_t division, const std::vector<std::string>& urls, Told done);
  // Returns true if the division's server may be asked. A server that did not answer lately is not
  // asked, because other pings would wait for it too.
  [[nodiscard]] bool MayPassOn(uint32_t division, Instant now) FRESHET_EXCLUDES(mutex_);
  void NotePassedOn(uint32_t division, const Status& status) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] StatusOr<PingCounts> TellAndWait(const std::vector<std::string>& urls);
  void TellLater(const std::vector<std::string>& urls, bool good);
  void Count(const PingCounts& counts);

  const ServerContext& context_;
  const IndexNowConfig& config_;
  KeyBook keys_;
  // The maximum number of pings from standbys that are answered at a time. Each standby sends one
  // at a time.
  static constexpr size_t kMostPassedOn = 16;
  Slots passed_on_{kMostPassedOn};
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> serial_{0};
  IndexNowCounters counters_;
  Mutex mutex_;
  // By division: when its server last failed to answer. Divisions that answer are left out.
  std::map<uint32_t, Instant> away_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_RECEIVER_H_
