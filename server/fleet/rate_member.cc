#include "server/fleet/rate_member.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/limits.h"
#include "server/base/log_limit.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// The longest wait for an answer to a report. The leader usually answers within a round.
constexpr Duration kPatience = Duration::Seconds(3);
// The wait before the next report after an error.
constexpr Duration kAgain = Duration::Millis(500);
// Credit is remembered for one to two times this long, because some workers ask for pages only now
// and then. Otherwise the server would lose its part of the rate while these workers fetch, and
// would lack that part when they ask again.
constexpr Duration kCreditMemory = Duration::Seconds(10);

}  // namespace

class RateMember::Impl : public std::enable_shared_from_this<RateMember::Impl> {
 public:
  Impl(NodeId node, uint32_t place, const FleetRateOptions& options, Clock& clock,
       RateMemberHooks hooks)
      : node_(node),
        place_(place),
        options_(options),
        clock_(clock),
        hooks_(std::move(hooks)),
        since_(clock.Now()),
        holder_(node, options) {}

  void Attend() FRESHET_EXCLUDES(mutex_);
  void HearOfLeader() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    waits_until_ = Instant();
  }
  void Stop() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  [[nodiscard]] bool MayHandOut() const { return clock_.Now().micros() < until_; }
  [[nodiscard]] Rate granted() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return holder_.rate(clock_.Now());
  }
  [[nodiscard]] uint64_t grants() const { return grants_; }
  [[nodiscard]] uint64_t unheard() const { return unheard_; }
  [[nodiscard]] Duration ungranted() const {
    return std::max(clock_.Now() - std::max(since_, Instant::FromMicros(until_)), Duration());
  }

 private:
  // Returns true and logs a line if the times of the grant show that the clocks of this server and
  // of the leader differ too much.
  [[nodiscard]] bool IsOfAnotherTime(const RateGrant& grant, Instant now) FRESHET_REQUIRES(mutex_);
  void SeeCredit(Instant now, uint64_t credit) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] RateReport MakeReport(Instant now, const HandedOut& handed_out)
      FRESHET_REQUIRES(mutex_);
  void OnAnswer(uint64_t report, const StatusOr<RateGrant>& grant) FRESHET_EXCLUDES(mutex_);
  void Obey(Instant now) FRESHET_REQUIRES(mutex_);

  const NodeId node_;
  const uint32_t place_;
  const FleetRateOptions options_;
  Clock& clock_;
  const RateMemberHooks hooks_;
  const Instant since_;             // time of the construction
  std::atomic<int64_t> until_ = 0;  // end of the grant, in microseconds
  std::atomic<uint64_t> grants_ = 0;
  std::atomic<uint64_t> unheard_ = 0;
  mutable Mutex mutex_;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  bool refuses_ FRESHET_GUARDED_BY(mutex_) = false;  // RateReport::refuses
  // The reason why the last failed report got no grant.
  std::string why_ FRESHET_GUARDED_BY(mutex_);
  LogLimit log_refused_ FRESHET_GUARDED_BY(mutex_);
  GrantHolder holder_ FRESHET_GUARDED_BY(mutex_);
  Rate obeyed_ FRESHET_GUARDED_BY(mutex_);  // the rate that `obey` was last called with
  uint64_t reports_ FRESHET_GUARDED_BY(mutex_) = 0;
  // No report is sent before this time: an answer is awaited, or an error has occurred.
  Instant waits_until_ FRESHET_GUARDED_BY(mutex_);
  Instant reported_ FRESHET_GUARDED_BY(mutex_);
  HandedOut before_ FRESHET_GUARDED_BY(mutex_);  // counts at the last report
  // The highest credit since credit_since_, and the highest credit in the period before.
  Instant credit_since_ FRESHET_GUARDED_BY(mutex_);
  uint64_t credit_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t credit_before_ FRESHET_GUARDED_BY(mutex_) = 0;
};

void RateMember::Impl::Attend() {
  const HandedOut handed_out = hooks_.handed_out();
  std::optional<RateReport> report;
  {
    const MutexLock lock(mutex_);
    // The time is read before serves() is asked. So no other server can have taken over at `now`.
    const Instant now = clock_.Now();
    Obey(now);
    SeeCredit(now, handed_out.credit);
    if (stopped_ || now < waits_until_ || !hooks_.serves()) return;
    report = MakeReport(now, handed_out);
    waits_until_ = now + kPatience;
  }
  hooks_.send(*report, [self = shared_from_this(), number = report->number](
                           const StatusOr<RateGrant>& grant) { self->OnAnswer(number, grant); });
}

void RateMember::Impl::SeeCredit(Instant now, uint64_t credit) {
  if (now >= credit_since_ + kCreditMemory) {
    credit_before_ = std::exchange(credit_, 0);
    credit_since_ = now;
  }
  credit_ = std::max(credit_, credit);
}

RateReport RateMember::Impl::MakeReport(Instant now, const HandedOut& handed_out) {
  RateReport report;
  report.node = node_;
  report.place = place_;
  report.number = ++reports_;
  report.sent = now;
  report.held = holder_.held();
  report.refuses = refuses_;
  hooks_.describe(&report);
  const double seconds = reported_.is_none() ? 0 : (now - reported_).seconds();
  const auto used = static_cast<double>(handed_out.assignments - before_.assignments);
  if (seconds > 0) {
    report.used = Rate::PerSecond(std::min(used / seconds, limits::kMaxCrawlsPerSecond));
  }
  report.credit = std::max(credit_, credit_before_);
  // If no tick lacked credit, the workers had credit for at least as many pages as they got, so the
  // report states at least that number.
  if (handed_out.ticks_without_credit == before_.ticks_without_credit) {
    report.credit = std::max(report.credit, static_cast<uint64_t>(std::ceil(used)));
  }
  reported_ = now;
  before_ = handed_out;
  return report;
}

void RateMember::Impl::OnAnswer(uint64_t report, const StatusOr<RateGrant>& grant) {
  const MutexLock lock(mutex_);
  if (stopped_) return;
  const Instant now = clock_.Now();
  Status taken = grant.status();
  if (taken.ok() && grant->term > 0) {
    taken = holder_.Take(*grant, now);
    refuses_ = !taken.ok() && IsOfAnotherTime(*grant, now);
    if (taken.ok()) {
      ++grants_;
      Obey(now);
    }
  }
  if (!taken.ok()) {
    ++unheard_;
    why_ = std::string(taken.message());
    spdlog::debug("no part of the crawl rate: {}", std::string(taken.message()));
  }
  if (report == reports_) waits_until_ = taken.ok() ? Instant() : now + kAgain;
}

bool RateMember::Impl::IsOfAnotherTime(const RateGrant& grant, Instant now) {
  const Duration ahead = grant.until - options_.lifetime - now;
  if (grant.until > now && ahead <= options_.clock_bound) return false;
  if (const auto more = log_refused_.Admit(now)) {
    spdlog::warn(
        "the clock of the server that shares out the crawl rate is about {:.1f} s {} this one's, "
        "so that its grants cannot be obeyed: set the clocks of all servers right{}",
        std::abs(ahead.seconds()), ahead > Duration() ? "ahead of" : "behind", *more);
  }
  return true;
}

void RateMember::Impl::Obey(Instant now) {
  const Rate rate = holder_.rate(now);
  if (rate != obeyed_) {
    if (rate == Rate()) {
      spdlog::warn("this server has no part of the fleet's crawl rate now{}{}",
                   why_.empty() ? "" : ": ", why_);
    }
    obeyed_ = rate;
    hooks_.obey(rate);
  }
  // `until_` is set last, so that the rate of an earlier grant is never used under this grant.
  until_ = holder_.until().is_none() ? 0 : holder_.until().micros();
}

RateMember::RateMember(NodeId node, uint32_t place, const FleetRateOptions& options, Clock& clock,
                       RateMemberHooks hooks)
    : impl_(std::make_shared<Impl>(node, place, options, clock, std::move(hooks))) {}
RateMember::~RateMember() { impl_->Stop(); }

void RateMember::Attend() { impl_->Attend(); }
void RateMember::Stop() { impl_->Stop(); }
void RateMember::HearOfLeader() { impl_->HearOfLeader(); }
bool RateMember::MayHandOut() const { return impl_->MayHandOut(); }
Rate RateMember::granted() const { return impl_->granted(); }
uint64_t RateMember::grants() const { return impl_->grants(); }
uint64_t RateMember::unheard() const { return impl_->unheard(); }
Duration RateMember::ungranted() const { return impl_->ungranted(); }

}  // namespace freshet
