// What waits of several clients, who have their turns one after the other: one that brings much
// does not keep the others waiting.
#ifndef FRESHET_SERVER_BASE_CLIENT_TURNS_H_
#define FRESHET_SERVER_BASE_CLIENT_TURNS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace freshet {

// What one client brings comes out in its order, what several do by turns. Thread-compatible.
template <typename Work>
class ClientTurns {
 public:
  void Push(const std::string& client, Work work) {
    std::deque<Work>& its = work_[client];
    if (its.empty()) turns_.push_back(client);
    its.push_back(std::move(work));
    ++size_;
  }
  // Precondition: not empty.
  [[nodiscard]] Work Pop() {
    std::string client = std::move(turns_.front());
    turns_.pop_front();
    const auto its = work_.find(client);
    Work next = std::move(its->second.front());
    its->second.pop_front();
    --size_;
    if (its->second.empty()) {
      work_.erase(its);
    } else {
      turns_.push_back(std::move(client));
    }
    return next;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  // How many wait of that client.
  [[nodiscard]] size_t SizeOf(const std::string& client) const {
    const auto its = work_.find(client);
    return its == work_.end() ? 0 : its->second.size();
  }
  // One for which `wanted` is true; null: there is none. Linear.
  template <typename Wanted>
  [[nodiscard]] Work* Find(Wanted wanted) {
    for (auto& [client, its] : work_) {
      for (Work& work : its) {
        if (wanted(work)) return &work;
      }
    }
    return nullptr;
  }

 private:
  std::map<std::string, std::deque<Work>> work_;  // by client; none is empty
  std::deque<std::string> turns_;                 // of these clients, the next first
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_CLIENT_TURNS_H_
