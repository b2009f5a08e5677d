// A fair queue. Clients take turns, so a client with much work does not keep the others waiting.
#ifndef FRESHET_SERVER_BASE_CLIENT_TURNS_H_
#define FRESHET_SERVER_BASE_CLIENT_TURNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace freshet {

// The work of one client is served in the order in which it was added. The next client is the one
// that has been served least since it began to wait, measured by the weights of its work. With
// equal weights, clients take turns (start-time fair queueing: Goyal, Vin, Cheng 1996).
// Thread-compatible.
template <typename Work, typename Client = std::string>
class ClientTurns {
 public:
  void Push(const Client& client, Work work, size_t weight = 1) {
    std::deque<Item>& its = work_[client];
    its.push_back({std::move(work), weight});
    Added(client, its.size());
  }
  // Adds popped work that was not done, in front of the client's other work. The client has to wait
  // for its turn again.
  void PutBack(const Client& client, Work work, size_t weight = 1) {
    std::deque<Item>& its = work_[client];
    its.push_front({std::move(work), weight});
    Added(client, its.size());
  }
  // Adds `work` after the client's other work, and removes and returns the client's oldest work.
  // Precondition: the client has work here.
  [[nodiscard]] Work Replace(const Client& client, Work work, size_t weight = 1) {
    std::deque<Item>& its = work_.at(client);
    its.push_back({std::move(work), weight});
    Item oldest = std::move(its.front());
    its.pop_front();
    return std::move(oldest.work);
  }
  // The client whose turn is next. Precondition: not empty.
  [[nodiscard]] const Client& front_client() const { return turns_.begin()->second; }
  // The work that Pop returns next. Precondition: not empty.
  [[nodiscard]] Work& front() { return work_.at(turns_.begin()->second).front().work; }
  // Removes and returns the next work. Precondition: not empty.
  [[nodiscard]] Work Pop() {
    auto turn = turns_.extract(turns_.begin());
    const auto its = work_.find(turn.mapped());
    Item next = std::move(its->second.front());
    its->second.pop_front();
    now_ = turn.key().first;
    const uint64_t end = now_ + next.weight;
    if (--size_ == 0) {
      // No client is waiting.
      served_.clear();
    } else {
      served_[turn.mapped()] = end;
      // An entry of served_ has no effect once its value is at most `now_` (see Added). A search
      // for these entries visits all entries, so it is made only after their number has doubled.
      if (served_.size() > most_served_) {
        std::erase_if(served_, [this](const auto& one) { return one.second <= now_; });
        most_served_ = std::max(kFewServed, 2 * served_.size());
      }
    }
    if (its->second.empty()) {
      work_.erase(its);
    } else {
      turn.key() = {end, ++pushed_};
      turns_.insert(std::move(turn));
    }
    return std::move(next.work);
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  // The number of items of the client.
  [[nodiscard]] size_t SizeOf(const Client& client) const {
    const auto its = work_.find(client);
    return its == work_.end() ? 0 : its->second.size();
  }
  // An item for which `wanted` returns true; nullptr = none. Takes linear time.
  template <typename Wanted>
  [[nodiscard]] Work* Find(Wanted wanted) {
    for (auto& [client, its] : work_) {
      for (Item& item : its) {
        if (wanted(item.work)) return &item.work;
      }
    }
    return nullptr;
  }

 private:
  static constexpr size_t kFewServed = 64;

  struct Item {
    Work work;
    size_t weight = 0;
  };
  // The order of waiting clients: first by how much each has been served, then by arrival.
  using Turn = std::pair<uint64_t, uint64_t>;

  // Counts a new item, and gives the client a turn if it has no other item. `items`: the client's
  // number of items, including the new one.
  void Added(const Client& client, size_t items) {
    ++size_;
    if (items > 1) return;
    // A client that was served just now must not overtake clients that were already waiting.
    const auto served = served_.find(client);
    const uint64_t start = served == served_.end() ? now_ : std::max(now_, served->second);
    turns_.emplace(Turn{start, ++pushed_}, client);
  }

  std::map<Client, std::deque<Item>> work_;  // by client; no queue is empty
  std::map<Turn, Client> turns_;             // the turns of the clients in work_, the next first
  std::map<Client, uint64_t> served_;  // empty if no work waits; values up to `now_` have no effect
  size_t most_served_ = kFewServed;    // above this size, entries up to `now_` are erased
  uint64_t now_ = 0;  // how much the last popped client had been served before its turn
  uint64_t pushed_ = 0;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_CLIENT_TURNS_H_
