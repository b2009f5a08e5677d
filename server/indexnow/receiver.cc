#include "server/indexnow/receiver.h"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/counted.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/fleet/slot_division.h"
#include "fmt/format.h"
#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/over_divisions.h"
#include "server/api/wire.h"
#include "server/base/limits.h"
#include "server/base/refusals.h"
#include "server/config.h"
#include "server/logs/loggers.h"
#include "server/ports/http_credentials.h"

namespace freshet {
namespace {

constexpr std::string_view kTakePath = "/freshet.v1.FleetService/TakePing";
// How long the server of another division may take to answer. Other pings wait in the meantime.
constexpr Duration kPassOnPatience = Duration::Seconds(3);
// The maximum size in bytes of the tag and the length that protobuf adds to a URL in a message.
constexpr size_t kMostBytesBeside = 8;
// A part of a ping gets another URL only if it has room for this many bytes: the URL, and the
// fields beside the URLs.
constexpr size_t kRoom = limits::kMaxUrlBytes + 4 * kMostBytesBeside;
// A client may repeat a ping after this time if too many keys waited, or if no server could take
// the ping. A server that did not answer is not asked again for this time.
constexpr Duration kBusyTime = Duration::Seconds(10);

HttpResponse ResponseOf(const StatusOr<PingCounts>& counts) {
  if (!counts.ok()) return RetryResponse(503, std::string(counts.status().message()), kBusyTime);
  if (!counts->busy.ok()) {
    const int status = absl::IsResourceExhausted(counts->busy) ? 429 : 503;
    return RetryResponse(status, std::string(counts->busy.message()), Duration::Seconds(1));
  }
  return TextResponse(
      200, fmt::format("{} told, {} unknown, {} new, {} refused", Counted(counts->applied, "page"),
                       counts->unknown, counts->created, counts->refused));
}

v1::AnswerPingResponse ToProto(const HttpResponse& response) {
  v1::AnswerPingResponse answer;
  answer.set_status(static_cast<uint32_t>(response.status));
  if (response.body != nullptr) {
    answer.set_text(response.body->substr(0, response.body->find_last_not_of('\n') + 1));
  }
  answer.set_retry_after_seconds(RetryAfterOf(response));
  return answer;
}

// Sums up the answers to the parts of a ping. Not OK: some URLs must be sent again.
StatusOr<PingCounts> CountsIn(const DivisionAnswers& answers) {
  PingCounts counts;
  for (const DivisionAnswer& its : answers) {
    const StatusOr<v1::TakePingResponse> part = ResponseIn<v1::TakePingResponse>(its.answer);
    if (absl::IsResourceExhausted(part.status())) {
      counts.busy = part.status();
      continue;
    }
    if (!part.ok()) return StatusOfDivision(its.division, part.status());
    counts.applied += part->applied();
    counts.unknown += part->unknown();
    counts.created += part->created();
    counts.refused += part->refused();
  }
  return counts;
}

}  // namespace

IndexNowReceiver::IndexNowReceiver(const ServerContext& context)
    : context_(context), config_(context.config.indexnow), keys_(config_, context.clock) {}

void IndexNowReceiver::Stop() {
  stopping_ = true;
  keys_.Stop();
}

HttpResponse IndexNowReceiver::Answer(const HttpRequest& request) {
  const auto answer = std::make_shared<std::promise<HttpResponse>>();
  Respond(request, CredentialsOf(request),
          [answer](HttpResponse response) { answer->set_value(std::move(response)); });
  return answer->get_future().get();
}

void IndexNowReceiver::AnswerPassedOn(
    const v1::AnswerPingRequest& request, const Credentials& credentials,
    std::function<void(StatusOr<v1::AnswerPingResponse>)> answered) {
  // This limit is the same as at this server's HTTP port.
  if (request.body().size() > config_.max_body_bytes) {
    counters_.Count(413);
    return answered(ToProto(TextResponse(413, "the body is too large")));
  }
  if (!passed_on_.Take()) {
    return answered(MakeStatus(absl::StatusCode::kResourceExhausted,
                               "{} pings that standby servers forwarded are already being "
                               "answered, the maximum: try again",
                               kMostPassedOn));
  }
  const HttpRequest ping = {
      .method = request.method(), .query = request.query(), .body = request.body()};
  Respond(ping, credentials, [this, answered = std::move(answered)](const HttpResponse& response) {
    passed_on_.Give();
    answered(ToProto(response));
  });
}

void IndexNowReceiver::Respond(const HttpRequest& request, const Credentials& credentials,
                               Answered answered) {
  const auto answer = [this, answered = std::move(answered)](HttpResponse response) {
    counters_.Count(response.status);
    answered(std::move(response));
  };
  if (!config_.enabled) return answer(TextResponse(404, "the server that serves takes no pings"));
  auto admitted = Admitted(request, credentials);
  if (auto* response = std::get_if<HttpResponse>(&admitted)) return answer(std::move(*response));
  Tell(std::get<Ping>(admitted).urls,
       [answer](const StatusOr<PingCounts>& counts) { answer(ResponseOf(counts)); });
}

std::variant<Ping, HttpResponse> IndexNowReceiver::Admitted(const HttpRequest& request,
                                                            const Credentials& credentials) {
  if (stopping_) return RetryResponse(503, "the server is stopping", kBusyTime);
  if (request.method != "GET" && request.method != "POST") {
    return TextResponse(405, "this path takes GET, POST");
  }
  const Instant now = context_.clock.Now();
  const MethodRule* rule = FindMethod(std::string("http:") + kIndexNowPath);
  CHECK(rule != nullptr, "the path has a rule");
  StatusOr<Caller> caller = context_.authoriser.Check(*rule, credentials);
  if (!caller.ok()) {
    return TextResponse(absl::IsUnauthenticated(caller.status()) ? 401 : 403,
                        std::string(caller.status().message()));
  }
  caller->SetBudget(context_.authoriser.BudgetOf(*caller, credentials, now));
  const std::optional<uint8_t> source = context_.sources.Find(kIndexNowSource);
  if (!source) return RetryResponse(503, "the source indexnow is not registered", kBusyTime);
  auto parsed = ParsePing(request, config_);
  if (auto* refusal = std::get_if<HttpResponse>(&parsed)) return std::move(*refusal);
  auto& ping = std::get<Ping>(parsed);
  Duration wait;
  if (const Status admitted = Admit(*caller, ping, *source, now, &wait); !admitted.ok()) {
    if (absl::IsPermissionDenied(admitted)) {
      return TextResponse(403, std::string(admitted.message()));
    }
    return RetryResponse(429, std::string(admitted.message()), wait);
  }
  if (config_.verify_keys) {
    const KeyBook::Answer key =
        keys_.Check(ping.file, ping.key, Authoriser::ClientOf(*caller, credentials), ping.bytes(),
                    [this, urls = ping.urls](bool good) { TellLater(urls, good); });
    switch (key.standing) {
      case KeyBook::Standing::kGood:
        break;
      case KeyBook::Standing::kBad:
        return TextResponse(403, "key: " + key.why);
      case KeyBook::Standing::kPending:
        counters_.pending += ping.urls.size();
        return TextResponse(202, "the key is being looked up");
      case KeyBook::Standing::kBusy:
        return RetryResponse(429, "too much waits for keys to be looked up", kBusyTime);
    }
  }
  return std::move(ping);
}

Status IndexNowReceiver::Admit(const Caller& caller, const Ping& ping, uint8_t source, Instant now,
                               Duration* wait) {
  RETURN_IF_ERROR(caller.CheckSource(kIndexNowSource));
  ASSIGN_OR_RETURN(const std::string crawl_id, CanonicalCrawlId(config_.crawl_id));
  RETURN_IF_ERROR(caller.CheckPage(crawl_id, ping.file.host));
  *wait = caller.PayForCall(now);
  if (*wait > Duration()) {
    ++context_.counters.refused_by_client;
    return caller.TooEarly(*wait);
  }
  // The URLs of all clients share the rate of the source. The URLs of this ping are charged to the
  // rate only once the key is good, so that clients without a key do not use up the rate of others.
  *wait = context_.sources.TakeSignals(source, 0, now);
  if (*wait > Duration()) {
    ++context_.counters.slowed_by_source;
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "source: {} signals come too fast: try again in {:.3f} s", kIndexNowSource,
                      wait->seconds());
  }
  // The call has already been charged for one URL. The others are charged even beyond the client's
  // rate.
  (void)caller.Pay(ping.urls.size() - 1, now);
  return absl::OkStatus();
}

void IndexNowReceiver::Tell(const std::vector<std::string>& urls, Told done) {
  const SlotDivision own = context_.router.division();
  const uint32_t division = own.Of(SlotOfHost(HostOfCanonical(urls.front())));
  if (division != own.division && context_.divisions != nullptr) {
    return PassOn(division, urls, std::move(done));
  }
  TellOwn(urls, urls.size(), std::move(done));
}

void IndexNowReceiver::TellOwn(std::vector<std::string> urls, uint64_t poll_size, Told done) {
  TellPages(context_, std::move(urls), poll_size, ++serial_,
            [this, done = std::move(done)](StatusOr<PingCounts> counts) {
              if (counts.ok()) Count(*counts);
              done(std::move(counts));
            });
}

void IndexNowReceiver::PassOn(uint32_t division, const std::vector<std::string>& urls, Told done) {
  const Instant now = context_.clock.Now();
  if (!MayPassOn(division, now)) {
    return done(MakeStatus(
        absl::StatusCode::kUnavailable,
        "division {}: its server did not answer a few seconds ago, so it is not asked again yet",
        division));
  }
  CountSent(context_, urls.size(), now);
  context_.counters.sent_on += urls.size();
  std::vector<std::pair<uint32_t, grpc::ByteBuffer>> parts;
  v1::TakePingRequest part;
  size_t bytes = 0;
  for (const std::string& url : urls) {
    part.add_urls(url);
    bytes += url.size() + kMostBytesBeside;
    const bool has_room =
        part.urls_size() < limits::kMaxItemsPerMessage && bytes + kRoom < MostBytes(context_);
    if (&url != &urls.back() && has_room) continue;
    part.set_poll_size(urls.size());
    parts.emplace_back(division, SerialiseMessage(part));
    part.Clear();
    bytes = 0;
  }
  AskDivisions(
      context_, kTakePath, {.sent_on = true}, parts, kPassOnPatience,
      [=, this, size = urls.size(), done = std::move(done)](const DivisionAnswers& answers) {
        StatusOr<PingCounts> counts = CountsIn(answers);
        if (!counts.ok()) context_.counters.sent_on_unanswered += size;
        NotePassedOn(division, counts.status());
        done(std::move(counts));
      });
}

bool IndexNowReceiver::MayPassOn(uint32_t division, Instant now) {
  const MutexLock lock(mutex_);
  const auto away = away_.find(division);
  return away == away_.end() || now - away->second > kBusyTime;
}

void IndexNowReceiver::NotePassedOn(uint32_t division, const Status& status) {
  const MutexLock lock(mutex_);
  if (absl::IsUnavailable(status)) {
    away_[division] = context_.clock.Now();
  } else {
    away_.erase(division);
  }
}

void IndexNowReceiver::TakePassedOn(const v1::TakePingRequest& request,
                                    std::function<void(StatusOr<v1::TakePingResponse>)> answered) {
  if (stopping_) return answered(ServerIsStopping());
  if (!config_.enabled) {
    return answered(
        MakeStatus(absl::StatusCode::kFailedPrecondition,
                   "indexnow.enabled is false on the server of this division (part of the hosts)"));
  }
  if (request.urls().empty() || request.poll_size() < static_cast<uint64_t>(request.urls_size())) {
    return answered(InvalidArgument("urls: {} of {}", request.urls_size(), request.poll_size()));
  }
  TellOwn({request.urls().begin(), request.urls().end()}, request.poll_size(),
          [answered = std::move(answered)](const StatusOr<PingCounts>& counts) {
            if (!counts.ok()) return answered(counts.status());
            if (!counts->busy.ok()) return answered(counts->busy);
            v1::TakePingResponse response;
            response.set_applied(counts->applied);
            response.set_unknown(counts->unknown);
            response.set_created(counts->created);
            response.set_refused(counts->refused);
            answered(std::move(response));
          });
}

StatusOr<PingCounts> IndexNowReceiver::TellAndWait(const std::vector<std::string>& urls) {
  const auto told = std::make_shared<std::promise<StatusOr<PingCounts>>>();
  Tell(urls, [told](StatusOr<PingCounts> counts) { told->set_value(std::move(counts)); });
  return told->get_future().get();
}

void IndexNowReceiver::TellLater(const std::vector<std::string>& urls, bool good) {
  if (!good) {
    counters_.dropped += urls.size();
    return;
  }
  // The client already has its answer. This thread still waits until the signals are durable, so
  // that the URLs of other waiting pings come after these.
  const StatusOr<PingCounts> counts = TellAndWait(urls);
  const Status status = counts.ok() ? counts->busy : counts.status();
  if (status.ok()) return;
  // It is not known which of the URLs were taken.
  counters_.dropped += urls.size();
  Logger(LogModule::kIndexnow)
      .warn("indexnow: some or all of {} URLs are dropped: {}", urls.size(),
            std::string(status.message()));
}

void IndexNowReceiver::Count(const PingCounts& counts) {
  counters_.applied += counts.applied;
  counters_.unknown += counts.unknown;
  counters_.created += counts.created;
  counters_.refused += counts.refused;
}

IndexNowStats IndexNowReceiver::stats() const {
  const KeyStats keys = keys_.stats();
  IndexNowStats stats;
  for (size_t i = 0; i < kIndexNowStatuses.size(); ++i) {
    stats.requests[kIndexNowStatuses[i]] = counters_.requests[i];
  }
  stats.applied = counters_.applied;
  stats.unknown = counters_.unknown;
  stats.created = counters_.created;
  stats.refused = counters_.refused;
  stats.pending = counters_.pending;
  stats.dropped = counters_.dropped;
  stats.keys_good = keys.good;
  stats.keys_bad = keys.bad;
  stats.keys_unreachable = keys.unreachable;
  stats.pending_bytes = keys.pending_bytes;
  return stats;
}

}  // namespace freshet
