#include "tests/crash/requests.h"

#include <iterator>

#include "fmt/format.h"

namespace freshet::crash {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHour = 3600 * kSecond;

void Name(const Page& page, auto* out) {
  out->set_url(page.url);
  if (page.crawl_id != "DEFAULT") out->set_crawl_id(page.crawl_id);
}

// --- Calls of operators. Each function returns true if the call was answered

using Stub = v1::AdminService::Stub;

// Records the value to be set, makes the call, and then records which value applies.
template <typename T, typename Call>
bool Change(Knowledge* knowledge, Setting<T>* setting, const T& value, Call call) {
  {
    const MutexLock lock(knowledge->mutex);
    setting->pending = value;
  }
  const grpc::Status status = call();
  if (!status.ok()) return false;
  const MutexLock lock(knowledge->mutex);
  setting->Settle(value);
  return true;
}

bool ChangeRate(Stub& stub, grpc::ClientContext* call, uint64_t dice, Knowledge* knowledge) {
  v1::SetCrawlRateRequest request;
  v1::SetCrawlRateResponse response;
  const double rate = 500 + static_cast<double>(dice % 3000) + 0.25;
  request.set_crawl_rate_per_second(rate);
  return Change(knowledge, &knowledge->rate, rate,
                [&] { return stub.SetCrawlRate(call, request, &response); });
}

bool ChangePolicy(Stub& stub, grpc::ClientContext* call, uint64_t dice, Knowledge* knowledge) {
  static constexpr const char* kPolicies[] = {"default", "greedy", "greedy_ncis", "greedy_cis"};
  v1::SetPolicyRequest request;
  v1::SetPolicyResponse response;
  request.set_policy(kPolicies[dice % std::size(kPolicies)]);
  return Change(knowledge, &knowledge->policy, request.policy(),
                [&] { return stub.SetPolicy(call, request, &response); });
}

bool ChangePause(Stub& stub, grpc::ClientContext* call, bool pause, Knowledge* knowledge) {
  v1::PauseResponse paused;
  v1::ResumeResponse resumed;
  return Change(knowledge, &knowledge->paused, pause, [&] {
    return pause ? stub.Pause(call, {}, &paused) : stub.Resume(call, {}, &resumed);
  });
}

bool ChangeHost(Stub& stub, grpc::ClientContext* call, uint64_t dice, Knowledge* knowledge) {
  v1::SetHostPolitenessRequest request;
  v1::SetHostPolitenessResponse response;
  Setting<HostFacts>* host = nullptr;
  HostFacts facts;
  {
    const MutexLock lock(knowledge->mutex);
    auto it = knowledge->hosts.begin();
    std::advance(it, dice % knowledge->hosts.size());
    request.set_host(it->first);
    host = &it->second;
    facts = host->value;
  }
  dice /= 64;
  if (dice % 4 == 0) {
    request.set_reset(true);
    facts = HostFacts();
  }
  if (dice % 3 == 0) {
    facts.min_delay = static_cast<int64_t>(dice % 3000);
    facts.customised = true;
    SetMicros(facts.min_delay, request.mutable_min_delay());
  }
  if (dice % 5 == 0) {
    facts.max_in_flight = static_cast<uint32_t>(10'000 + dice % 1000);
    facts.customised = true;
    request.set_max_in_flight(facts.max_in_flight);
  }
  if (dice % 11 == 0) {
    facts.min_page_interval = static_cast<int64_t>(dice % 5000);
    facts.customised = true;
    SetMicros(facts.min_page_interval, request.mutable_min_page_interval());
  }
  if (dice % 7 == 0) {
    // Some blocks last until a later call ends them.
    facts.blocked_until = dice % 2 == 0 ? NowMicros() + kHour : 0;
    SetMicros(std::max<int64_t>(facts.blocked_until, kSecond), request.mutable_blocked_until());
  }
  return Change(knowledge, host, facts,
                [&] { return stub.SetHostPoliteness(call, request, &response); });
}

bool AddSource(Stub& stub, grpc::ClientContext* call, uint64_t dice, Knowledge* knowledge) {
  v1::RegisterSourceRequest request;
  v1::RegisterSourceResponse response;
  request.set_source(fmt::format("source{}", dice % 20));
  if (!stub.RegisterSource(call, request, &response).ok()) return false;
  const MutexLock lock(knowledge->mutex);
  knowledge->sources.insert(request.source());
  return true;
}

}  // namespace

std::shared_ptr<Op> RandomUpsert(const Page& page, bool reset, Knowledge* knowledge) {
  auto op = std::make_shared<Op>();
  op->kind = Op::Kind::kUpsert;
  op->reset = reset;
  v1::PageSpec* spec = &op->spec;
  Name(page, spec);
  if (page.quiet) {
    spec->set_importance(0);
  } else if (knowledge->Chance(70)) {
    spec->set_importance(0.5 + static_cast<double>(knowledge->Below(1000)));
  }
  // Some intervals contradict each other or the stored ones, and must be refused.
  if (knowledge->Chance(15))
    SetMicros(static_cast<int64_t>(knowledge->Below(90)) * kSecond, spec->mutable_min_interval());
  if (!page.quiet && knowledge->Chance(15)) {
    SetMicros(static_cast<int64_t>(knowledge->Below(900)) * kSecond, spec->mutable_max_interval());
  }
  if (knowledge->Chance(10)) {
    const int64_t time = knowledge->Chance(50) ? NowMicros() + kHour : kSecond;
    SetMicros(time, spec->mutable_not_before());
  }
  if (knowledge->Chance(10))
    spec->set_known_change_rate_per_day(0.5 + static_cast<double>(knowledge->Below(9)));
  if (knowledge->Chance(10)) spec->set_complete_signals(knowledge->Chance(50));
  if (knowledge->Chance(10)) {
    SetMicros(NowMicros() - 10 * kHour - static_cast<int64_t>(knowledge->Below(kHour)),
              spec->mutable_last_crawl_time());
  }
  return op;
}

std::shared_ptr<Op> RandomSignal(const Page& page, uint32_t poll_size, Knowledge* knowledge) {
  static constexpr const char* kSources[] = {"cdn", "feed", "sitemap"};
  auto op = std::make_shared<Op>();
  op->kind = Op::Kind::kSignal;
  op->poll_size = poll_size;
  Name(page, &op->signal);
  op->signal.set_source(kSources[knowledge->Below(std::size(kSources))]);
  const int64_t now = NowMicros();
  const KnownLease& lease = page.facts.lease;
  if (lease.id != 0 && page.pending.empty() && lease.deadline > now + 10 * kSecond &&
      knowledge->Chance(50)) {
    // The change is later than any fetch under this lease, so the signal must still be there after
    // the result.
    SetMicros(now + 200 * kSecond, op->signal.mutable_change_time());
  } else if (knowledge->Chance(30)) {
    SetMicros(now - static_cast<int64_t>(knowledge->Below(20 * kHour)),
              op->signal.mutable_change_time());
  }
  if (knowledge->Chance(20)) op->signal.set_signal_id(fmt::format("s{}", UniqueMicros()));
  return op;
}

std::shared_ptr<Op> RandomResult(const Page& page, uint64_t lease, Knowledge* knowledge) {
  auto op = std::make_shared<Op>();
  op->kind = Op::Kind::kResult;
  v1::CrawlResult* result = &op->result;
  result->set_lease_id(lease);
  if (lease == 0 || knowledge->Chance(50)) Name(page, result);
  SetMicros(UniqueMicros(), result->mutable_fetch_time());
  const uint64_t dice = knowledge->Below(100);
  if (dice < 45) {
    result->set_outcome(v1::CRAWL_OUTCOME_CHANGED);
    result->set_http_status(200);
  } else if (dice < 80) {
    result->set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
  } else if (dice < 92) {
    result->set_outcome(v1::CRAWL_OUTCOME_ERROR);
    result->set_http_status(503);
  } else {
    result->set_outcome(dice < 96 ? v1::CRAWL_OUTCOME_GONE : v1::CRAWL_OUTCOME_MOVED);
    result->set_http_status(dice < 96 ? 404 : 301);
    if (dice >= 98) result->set_moved_to(fmt::format("http://moved.test/{}", dice));
  }
  if (knowledge->Chance(50))
    result->set_content_digest(knowledge->Chance(50) ? "digest-a" : "digest-b");
  if (knowledge->Chance(50)) result->set_etag(fmt::format("\"{}\"", knowledge->Below(1'000'000)));
  // The server ignores an ETag that is too long, and accepts the rest of the result.
  if (knowledge->Chance(3)) result->set_etag(std::string(600, 'e'));
  if (knowledge->Chance(30)) {
    // Some sites claim an impossible last-modified time. The fetch time itself must not be later
    // than now: the server would date the fetch now, and would count its change as later than the
    // fetch.
    const int64_t ago = static_cast<int64_t>(knowledge->Below(1000)) - 50;
    const int64_t hours = ago == 0 ? 1 : ago;
    SetMicros(MicrosOf(result->fetch_time()) - hours * kHour, result->mutable_last_modified());
  }
  return op;
}

std::shared_ptr<Op> Return(uint64_t lease) {
  auto op = std::make_shared<Op>();
  op->kind = Op::Kind::kReturn;
  op->lease = lease;
  return op;
}

void TogglePause(v1::AdminService::Stub& stub, Knowledge* knowledge) {
  bool paused = false;
  {
    const MutexLock lock(knowledge->mutex);
    paused = knowledge->paused.value;
  }
  grpc::ClientContext call;
  if (!ChangePause(stub, &call, !paused, knowledge)) knowledge->Fail("the pause cannot be changed");
}

bool OperateOnce(v1::AdminService::Stub& stub, grpc::ClientContext* call, Knowledge* knowledge) {
  uint64_t dice = 0;
  uint64_t kind = 0;
  bool paused = false;
  {
    const MutexLock lock(knowledge->mutex);
    kind = knowledge->Below(100);
    dice = knowledge->random() >> 1;
    paused = knowledge->paused.value;
  }
  if (paused && kind < 50) return ChangePause(stub, call, false, knowledge);
  if (kind < 5) return ChangePause(stub, call, true, knowledge);
  if (kind < 25) return ChangeRate(stub, call, dice, knowledge);
  if (kind < 30) return ChangePolicy(stub, call, dice, knowledge);
  if (kind < 85) return ChangeHost(stub, call, dice, knowledge);
  if (kind < 95) return AddSource(stub, call, dice, knowledge);
  v1::RunEpochResponse response;
  return stub.RunEpoch(call, {}, &response).ok();
}

}  // namespace freshet::crash
