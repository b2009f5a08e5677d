#include "tools/cli/tally.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/json.h"
#include "tools/cli/table.h"

namespace freshet::cli {

void Tally::PrintJson(const nlohmann::ordered_json& object) const {
  session_.out() << JsonText(object) << '\n';
}

void Tally::Applied(uint64_t items) {
  const MutexLock lock(mutex_);
  applied_ += items;
  progress_.Add(items);
}

void Tally::Refused(uint64_t row, const std::string& name, const std::string& reason) {
  v1::ItemStatus status;
  status.set_outcome(v1::ITEM_OUTCOME_REFUSED);
  status.mutable_error()->set_code(v1::ERROR_CODE_INVALID_ARGUMENT);
  status.mutable_error()->set_reason(reason);
  Item(row, name, status);
}

void Tally::Unreadable(uint64_t row, const std::string& what) {
  const MutexLock lock(mutex_);
  ++refused_;
  progress_.PrintFault(fmt::format("freshet: {}", ShowText(what)));
  if (!session_.json()) return;
  v1::ItemError error;
  error.set_code(v1::ERROR_CODE_INVALID_ARGUMENT);
  error.set_reason(what);
  PrintJson({{"row", row},
             {"name", ""},
             {"outcome", v1::ItemOutcome_Name(v1::ITEM_OUTCOME_REFUSED)},
             {"error", ToJson(error)}});
}

void Tally::Item(uint64_t row, const std::string& name, const v1::ItemStatus& status) {
  const MutexLock lock(mutex_);
  progress_.Add(1);
  if (tell_) {
    const bool taken = status.outcome() == v1::ITEM_OUTCOME_APPLIED ||
                       status.outcome() == v1::ITEM_OUTCOME_DUPLICATE ||
                       status.outcome() == v1::ITEM_OUTCOME_OBSERVED_ONLY ||
                       status.outcome() == v1::ITEM_OUTCOME_STALE;
    if (!taken) tell_(row, name, status.error());
    return;
  }
  for (const std::string& note : status.notes()) {
    progress_.PrintFault(
        fmt::format("freshet: row {}: {}: {}", row, ShowName(name), ShowText(note)));
  }
  switch (status.outcome()) {
    case v1::ITEM_OUTCOME_APPLIED:
      ++applied_;
      if (status.notes().empty()) return;
      break;
    case v1::ITEM_OUTCOME_DUPLICATE:
      ++duplicate_;
      break;
    case v1::ITEM_OUTCOME_OBSERVED_ONLY:
      ++observed_only_;
      break;
    case v1::ITEM_OUTCOME_STALE:
      ++stale_;
      break;
    default:
      ++refused_;
      const v1::ItemError& error = status.error();
      progress_.PrintFault(fmt::format("freshet: row {}: {}: {}{}{}", row, ShowName(name),
                                       error.field(), error.field().empty() ? "" : ": ",
                                       ShowText(error.reason())));
  }
  if (session_.json()) {
    nlohmann::ordered_json object = {{"row", row}, {"name", name}};
    object["outcome"] = v1::ItemOutcome_Name(status.outcome());
    if (status.has_error()) object["error"] = ToJson(status.error());
    for (const std::string& note : status.notes()) object["notes"].push_back(note);
    PrintJson(object);
  }
}

void Tally::Again(uint64_t items, const v1::ItemError& error, int attempts) {
  constexpr int kBusyAttempts = 4;
  constexpr std::chrono::seconds kEvery{30};
  if (error.code() != v1::ERROR_CODE_UNAVAILABLE && attempts < kBusyAttempts) return;
  const MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (error.reason() == again_ && now - again_told_ < kEvery) return;
  again_ = error.reason();
  again_told_ = now;
  progress_.Print(fmt::format("freshet: {} of the {} sent again, attempt {} of {}: {}",
                              ShowCount(items), noun_ + (items == 1 ? " is" : " are"), attempts + 1,
                              kMaxAttempts, ShowText(error.reason())));
}

void Tally::Summarise(uint64_t unacknowledged) const {
  const MutexLock lock(mutex_);
  if (session_.json()) {
    const nlohmann::ordered_json object = {
        {"items", Sum() + unacknowledged}, {"applied", applied_}, {"duplicate", duplicate_},
        {"observed_only", observed_only_}, {"stale", stale_},     {"refused", refused_},
        {"unacknowledged", unacknowledged}};
    session_.out() << object.dump() << '\n';
    return;
  }
  const uint64_t all = Sum() + unacknowledged;
  if (all == 0) {
    session_.out() << "0 " << noun_ << ": the input has no rows\n";
    return;
  }
  std::string text =
      fmt::format("{} {}: {} applied", ShowCount(all),
                  all == 1 ? noun_.substr(0, noun_.size() - 1) : noun_, ShowCount(applied_));
  const auto add = [&text](uint64_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", ShowCount(count), what);
  };
  add(duplicate_, "duplicate");
  add(observed_only_, "observed only");
  add(stale_, "stale");
  add(refused_, "refused");
  add(unacknowledged, "not acknowledged");
  session_.out() << text << '\n';
}

std::chrono::milliseconds RetryDelay(const v1::ItemError& error, int attempt) {
  using google::protobuf::util::TimeUtil;
  constexpr int64_t kShortest = 50;
  constexpr int64_t kLongest = 5000;
  const int64_t asked = error.has_retry_after()
                            ? TimeUtil::DurationToMilliseconds(error.retry_after())
                            : kShortest << std::min(attempt, 6);
  return std::chrono::milliseconds(std::clamp(asked, kShortest, kLongest));
}

}  // namespace freshet::cli
