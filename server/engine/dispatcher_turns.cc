// Whose turn it is: which worker a page is asked for, or, where some workers take pages of some
// crawl ids only, is given to once it is known.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "server/engine/dispatcher.h"
#include "server/engine/dispatcher_refill.h"

namespace freshet {
namespace {

// While workers that have answered want pages, newcomers get every fourth: names are free, and any
// number of them must not take the crawl rate from who does the work.
constexpr int kProvenInRow = 3;
// Of ticks that are used together, what one worker gets before it is another's turn.
constexpr double kLongestRun = 32;

}  // namespace

// --- Queues

void Dispatcher::Queue(WorkerId id, Worker& worker) {
  if (worker.queued || !worker.has_credit()) return;
  worker.queued = true;
  PutInTurn(id, worker);
}

void Dispatcher::PutInTurn(WorkerId id, const Worker& worker) {
  TurnQueue& queue = allowances_.proven(worker.key) ? in_turn_ : newcomers_in_turn_;
  queue.Push(id, worker.terms.takes, worker.terms.client);
  // That nothing was found says nothing of what was not asked for.
  if ((worker.terms.takes & ~asked_for_) != 0) barren_until_ = Instant::None();
}

void Dispatcher::CountInRow(bool newcomer, int& proven) {
  proven = newcomer ? 0 : std::min(proven + 1, kProvenInRow);
}

std::optional<WorkerId> Dispatcher::NextInTurn(ClassSet classes) {
  const bool newcomer_first = planned_in_row_ >= kProvenInRow;
  std::optional<WorkerId> id = NextOf(newcomer_first ? newcomers_in_turn_ : in_turn_, classes);
  const bool found = id.has_value();
  if (!found) id = NextOf(newcomer_first ? in_turn_ : newcomers_in_turn_, classes);
  if (id) CountInRow(/*newcomer=*/found == newcomer_first, planned_in_row_);
  return id;
}

std::optional<WorkerId> Dispatcher::NextOf(TurnQueue& queue, ClassSet classes) {
  const auto keeps = [this](WorkerId id) FRESHET_REQUIRES(mutex_) { return KeepsTurn(id); };
  const std::optional<WorkerId> id = queue.Pop(classes, keeps);
  if (!id) return std::nullopt;
  Worker& worker = workers_.at(*id);
  worker.queued = false;
  allowances_.Reserve(worker.key);
  return id;
}

bool Dispatcher::KeepsTurn(WorkerId id) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return false;
  Worker& worker = it->second;
  worker.queued = worker.has_credit();
  if (!worker.queued) return false;
  const auto why = allowances_.FullBy(worker.key);
  if (!why) return true;
  worker.full = true;
  worker.crowded = why->newcomers;
  worker.crowded ? crowded_.push_back(id) : full_[worker.key].push_back(id);
  return false;
}

ClassSet Dispatcher::TakenInTurn() {
  const auto keeps = [this](WorkerId id) FRESHET_REQUIRES(mutex_) { return KeepsTurn(id); };
  return in_turn_.Takes(keeps) | newcomers_in_turn_.Takes(keeps);
}

bool Dispatcher::TakesMore(WorkerId id) {
  const Worker& worker = workers_.at(id);
  if (!worker.has_credit()) return false;
  if (allowances_.FullBy(worker.key)) return false;
  allowances_.Reserve(worker.key);
  return true;
}

bool Dispatcher::MayYetBeServed(const Worker& worker) const {
  if (open_refill_ == 0 || !worker.queued || worker.full) return false;
  // Not for one refill after the other.
  return worker.held_for == 0 || worker.held_for == open_refill_;
}

// --- Asking for pages

void Dispatcher::AskInTurn(Refill* refill) {
  // Ticks that are used together go to one worker, so that they take one message.
  const double together = pacer_.rate().per_second() * kTogether.seconds();
  const auto run = static_cast<size_t>(std::clamp(together, 1.0, kLongestRun));
  std::optional<WorkerId> id;
  for (size_t i = 0; i < refill->terms.size(); ++i) {
    if (i % run == 0 || !TakesMore(*id)) {
      if (id) Queue(*id, workers_.at(*id));
      id = NextInTurn(0);
      if (!id) break;
    }
    Worker& worker = workers_.at(*id);
    ++worker.reserved;
    refill->workers.push_back(*id);
    refill->terms[i].worker = worker.terms.name;
    refill->terms[i].client = worker.terms.client;
    refill->terms[i].lease = worker.terms.lease;
  }
  if (id) Queue(*id, workers_.at(*id));
  refill->terms.resize(refill->workers.size());
}

void Dispatcher::AskForAnybody(Refill* refill) {
  const ClassSet takers = TakenInTurn();
  uint64_t credit = 0;
  for (const auto& [id, worker] : workers_) {
    if (!worker.queued || worker.full) continue;
    credit += worker.free_credit();
    if (credit >= refill->terms.size()) break;
  }
  if (takers == 0) credit = 0;
  refill->open = true;
  refill->owners.takers = takers;
  refill->terms.resize(std::min<uint64_t>(credit, refill->terms.size()));
  refill->workers.assign(refill->terms.size(), kNobody);
}

// Thread-compatible.
class Dispatcher::OpenTurns final : public BidTakers {
 public:
  OpenTurns(Dispatcher& dispatcher, Refill& refill) : dispatcher_(dispatcher), refill_(refill) {}

  bool Take(size_t tick, const Pick& pick) override {
    const MutexLock lock(dispatcher_.mutex_);
    // A plan knows no classes, so that its pages are for those who take them all.
    const ClassSet classes = pick.planned ? kAllClasses : SetOf(pick.crawl_class);
    const std::optional<WorkerId> id = dispatcher_.NextInTurn(classes);
    if (!id) return false;
    Worker& worker = dispatcher_.workers_.at(*id);
    ++worker.reserved;
    refill_.workers[tick] = *id;
    refill_.terms[tick].worker = worker.terms.name;
    refill_.terms[tick].client = worker.terms.client;
    refill_.terms[tick].lease = worker.terms.lease;
    dispatcher_.Queue(*id, worker);
    return true;
  }

 private:
  Dispatcher& dispatcher_;
  Refill& refill_;
};

RankedBids Dispatcher::Rank(Refill& refill) {
  std::vector<Instant> ticks;
  for (const LeaseTerms& terms : refill.terms) ticks.push_back(terms.at);
  const MutexLock lock(groups_mutex_);
  GroupLedger* const ledger = refill.bids.size() > 1 ? &groups_ : nullptr;
  OpenTurns takers(*this, refill);
  return RankBids(refill.bids, ticks, refill.owners, ranking_, ledger,
                  refill.open ? &takers : nullptr);
}

}  // namespace freshet
