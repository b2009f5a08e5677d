#include "server/api/url_pages.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/schedule/leases.h"
#include "server/api/url_events.h"
#include "server/api/wire.h"
#include "server/base/limits.h"
#include "server/config.h"

namespace freshet {
namespace {

constexpr Duration kRest = Duration::Seconds(5);
// Events may fill half of the largest message. The other half is for the fields around them.
constexpr size_t kPartOfMessage = 2;

// The status of event `i`; `failure` if the response has none.
Status StatusIn(const v1::TakeUrlsResponse& response, int i, const Status& failure) {
  if (i >= response.codes_size()) return failure;
  // A server of an earlier release sends only codes.
  const bool says_why = i < response.messages_size();
  return Status(static_cast<absl::StatusCode>(response.codes(i)),
                says_why ? response.messages(i) : "the server of the URL's division refused it");
}

}  // namespace

class UrlPages::UnderWay {
 public:
  // Take must be called once for each part, on any thread.
  UnderWay(size_t events, size_t parts, std::function<void(std::vector<Reply>)> done)
      : done_(std::move(done)), replies_(events), left_(parts) {}

  void Take(const std::vector<size_t>& places, std::vector<Reply> replies) {
    for (size_t i = 0; i < places.size(); ++i) replies_[places[i]] = std::move(replies[i]);
    if (--left_ == 0) done_(std::move(replies_));
  }

 private:
  const std::function<void(std::vector<Reply>)> done_;
  std::vector<Reply> replies_;  // each place belongs to one part
  std::atomic<size_t> left_;
};

bool UrlPages::Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done,
                      uint64_t client) {
  const SlotDivision own = router_.division();
  const bool any_elsewhere = std::any_of(
      events.begin(), events.end(), [this](const auto& event) { return IsElsewhere(event.slot); });
  if (!any_elsewhere) {
    return router_.Submit(std::move(events), std::move(done), nullptr, client);
  }
  std::vector<RoutedEvent> here;
  std::vector<size_t> places;  // positions of `here` in `events`
  std::vector<Message> messages;
  std::map<uint32_t, size_t> last;  // index of the last message, by division
  for (size_t i = 0; i < events.size(); ++i) {
    if (own.Has(events[i].slot)) {
      here.push_back(std::move(events[i]));
      places.push_back(i);
      continue;
    }
    v1::UrlEvent event;
    ToProto(events[i].event, &event);
    const size_t bytes = event.ByteSizeLong();
    const uint32_t division = own.Of(events[i].slot);
    const auto [at, is_first] = last.try_emplace(division, messages.size());
    if (is_first || IsFull(messages[at->second], bytes)) {
      at->second = messages.size();
      messages.push_back({.division = division, .request = {}, .places = {}});
      if (client != kOfFrontier) messages.back().request.set_client(client);
    }
    Message& message = messages[at->second];
    message.bytes += bytes;
    message.places.push_back(i);
    *message.request.add_events() = std::move(event);
  }
  const auto under_way = std::make_shared<UnderWay>(
      events.size(), messages.size() + (here.empty() ? 0 : 1), std::move(done));
  for (Message& message : messages) Send(std::move(message), under_way);
  if (here.empty()) return true;
  const auto take = [under_way, places](std::vector<Reply> replies) {
    under_way->Take(places, std::move(replies));
  };
  return router_.Submit(std::move(here), take, nullptr, client);
}

bool UrlPages::IsFull(const Message& message, size_t next_bytes) const {
  constexpr auto kMostItems = static_cast<size_t>(limits::kMaxItemsPerMessage);
  const auto most_bytes = static_cast<size_t>(config_.max_message_bytes) / kPartOfMessage;
  return message.places.size() >= kMostItems || message.bytes + next_bytes > most_bytes;
}

void UrlPages::Send(Message message, const std::shared_ptr<UnderWay>& under_way) {
  const auto take = [under_way,
                     places = std::move(message.places)](const StatusOr<grpc::ByteBuffer>& answer) {
    const auto response = ResponseIn<v1::TakeUrlsResponse>(answer);
    // If the stream ends, it is unknown whether each event was applied.
    const Status failure = MakeStatus(absl::StatusCode::kUnavailable,
                                      "the server of the URL's division did not answer");
    std::vector<Reply> replies;
    for (size_t i = 0; i < places.size(); ++i) {
      Status status = response.ok() ? StatusIn(*response, static_cast<int>(i), failure) : failure;
      replies.push_back({.disposition = status.ok() ? Disposition::kApplied : Disposition::kRefused,
                         .status = std::move(status)});
    }
    under_way->Take(places, std::move(replies));
  };
  StreamTo(message.division)
      .Send(SerialiseMessage(message.request), take, message.request.client());
}

DivisionCall& UrlPages::StreamTo(uint32_t division) {
  const MutexLock lock(mutex_);
  std::unique_ptr<DivisionCall>& stream = streams_[division];
  // The server itself sends these messages, so no client is named.
  if (stream == nullptr) stream = divisions_->Open(division, kTakeUrlsPath, {});
  return *stream;
}

void UrlPages::Tell(RoutedEvent event, std::function<void(const Status&)> done) {
  if (!IsElsewhere(event.slot)) {
    return router_.SubmitAlways(
        event.slot, std::move(event.event),
        [done = std::move(done)](const Reply& reply) { done(reply.status); });
  }
  std::vector<RoutedEvent> events;
  events.push_back(std::move(event));
  (void)Submit(std::move(events), [done = std::move(done)](const std::vector<Reply>& replies) {
    done(replies.front().status);
  });
}

bool UrlPages::SubmitUnawaited(std::vector<RoutedEvent>* events, uint64_t client) {
  if (!unawaited_.Take()) return false;
  (void)Submit(
      std::move(*events), [this](const std::vector<Reply>&) { unawaited_.Give(); }, client);
  return true;
}

void UrlPages::Stop() {
  std::unique_ptr<Ticker> ticker;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    ticker = std::move(ticker_);
  }
}

void UrlPages::Later(std::function<void()> call) {
  const MutexLock lock(mutex_);
  if (stopped_) return;
  later_.push_back(std::move(call));
  if (ticker_ != nullptr) return;
  ticker_ = std::make_unique<Ticker>(Duration::Seconds(1), [this] {
    std::vector<std::function<void()>> calls;
    {
      const MutexLock its_lock(mutex_);
      calls.swap(later_);
    }
    for (const auto& its : calls) its();
  });
}

void UrlPages::GiveBack(const std::vector<LeaseId>& leases) {
  const SlotDivision own = router_.division();
  std::vector<RoutedEvent> elsewhere;
  for (const LeaseId lease : leases) {
    const Slot slot = SlotOfLease(lease);
    if (own.Has(slot)) {
      router_.SubmitAlways(slot, ReturnLease{lease}, nullptr);
    } else {
      elsewhere.push_back({.slot = slot, .event = ReturnLease{lease}, .notes = {}});
    }
  }
  if (!elsewhere.empty()) (void)Submit(std::move(elsewhere), [](const std::vector<Reply>&) {});
}

// --- Leases

std::map<uint32_t, uint32_t> UrlPages::Shares(uint32_t most) {
  std::map<uint32_t, uint32_t> shares;
  const SlotDivision own = router_.division();
  if (divisions_ == nullptr) return shares;
  const Instant now = clock_.Now();
  const MutexLock lock(mutex_);
  std::vector<uint32_t> asked;
  for (uint32_t division = 0; division < own.divisions; ++division) {
    const auto rests = rests_until_.find(division);
    if (division != own.division && rests != rests_until_.end() && now < rests->second) continue;
    asked.push_back(division);
  }
  const auto count = static_cast<uint32_t>(asked.size());
  const uint32_t first = turn_++ % count;
  for (uint32_t i = 0; i < count; ++i) {
    // The first divisions get the remainder.
    const uint32_t share = most / count + (i < most % count ? 1 : 0);
    const uint32_t division = asked[(first + i) % count];
    if (share > 0 && division != own.division) shares[division] = share;
  }
  return shares;
}

void UrlPages::Lease(uint32_t division, const v1::LeaseUrlsRequest& request,
                     std::function<void(v1::LeaseUrlsResponse)> done) {
  if (!leasings_.Take()) return done({});
  divisions_->Open(division, kLeaseUrlsPath, {})
      ->Send(SerialiseMessage(request),
             [this, division, done = std::move(done)](const StatusOr<grpc::ByteBuffer>& answer) {
               leasings_.Give();
               auto response = ResponseIn<v1::LeaseUrlsResponse>(answer);
               if (!response.ok()) Rest(division);
               done(response.ok() ? *std::move(response) : v1::LeaseUrlsResponse());
             });
}

void UrlPages::Rest(uint32_t division) {
  const Instant now = clock_.Now();
  const MutexLock lock(mutex_);
  rests_until_[division] = now + kRest;
}

}  // namespace freshet
