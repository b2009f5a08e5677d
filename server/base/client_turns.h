// What waits of several clients, who have their turns one after the other: one that brings much
// does not keep the others waiting.
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

// What one client brings comes out in its order. Of several clients the one comes next that has
// been served least since it began to wait, by the weights of its work; with equal weights they
// take turns (start-time fair queueing: Goyal, Vin, Cheng 1996). Thread-compatible.
template <typename Work, typename Client = std::string>
class ClientTurns {
 public:
  void Push(const Client& client, Work work, size_t weight = 1) {
    std::deque<Item>& its = work_[client];
    its.push_back({std::move(work), weight});
    ++size_;
    if (its.size() > 1) return;
    // A client that was served just now does not come before those that have waited since.
    const auto served = served_.find(client);
    const uint64_t start = served == served_.end() ? now_ : std::max(now_, served->second);
    turns_.emplace(Turn{start, ++pushed_}, client);
  }
  // What Pop returns next. Precondition: not empty.
  [[nodiscard]] Work& front() { return work_.at(turns_.begin()->second).front().work; }
  // Precondition: not empty.
  [[nodiscard]] Work Pop() {
    auto turn = turns_.extract(turns_.begin());
    const auto its = work_.find(turn.mapped());
    Item next = std::move(its->second.front());
    its->second.pop_front();
    now_ = turn.key().first;
    const uint64_t end = now_ + next.weight;
    if (--size_ == 0) {
      // Nobody has waited.
      served_.clear();
    } else {
      served_[turn.mapped()] = end;
      // Those that are over are as if they were not there. Now and then, so that a turn costs no
      // more where many clients wait.
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
  // How many wait of that client.
  [[nodiscard]] size_t SizeOf(const Client& client) const {
    const auto its = work_.find(client);
    return its == work_.end() ? 0 : its->second.size();
  }
  // One for which `wanted` is true; null: there is none. Linear.
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
  // How much a client that waits has been served, and which of several came first.
  using Turn = std::pair<uint64_t, uint64_t>;

  std::map<Client, std::deque<Item>> work_;  // by client; none is empty
  std::map<Turn, Client> turns_;             // of these clients, the next first
  std::map<Client, uint64_t> served_;  // what is more than `now_` counts, while anything waits
  size_t most_served_ = kFewServed;    // until some are looked for that do not
  uint64_t now_ = 0;                   // as far as the client has been served that was last
  uint64_t pushed_ = 0;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_CLIENT_TURNS_H_
