#include "server/ports/http_answerer.h"

#include <deque>
#include <exception>
#include <string>
#include <utility>

#include "core/base/shares.h"
#include "server/logs/loggers.h"

namespace freshet {

HttpResponse CallRoute(const HttpRoute& route, const HttpRequest& request) {
  try {
    return route.answer(request);
  } catch (const std::exception& error) {
    // Clients are not told of internal errors.
    Logger(LogModule::kPorts).error("http: {} failed: {}", route.path, error.what());
    return TextResponse(500, "the server failed to answer");
  }
}

HttpAnswerer::HttpAnswerer(size_t max_calls, size_t max_tickets, size_t threads, Deliver deliver)
    : max_calls_(max_calls),
      max_tickets_(max_tickets),
      most_threads_(threads),
      deliver_(std::move(deliver)) {}

HttpAnswerer::~HttpAnswerer() { Stop(); }

void HttpAnswerer::Start() {
  while (threads_.size() < most_threads_) threads_.emplace_back([this] { Run(); });
}

void HttpAnswerer::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool HttpAnswerer::Ask(const HttpRoute& route, HttpRequest request, Ticket ticket,
                       const std::function<bool(Ticket)>& wanted) {
  const MutexLock lock(mutex_);
  Call* const same = calls_.Find([&route](const Call& call) {
    return call.route == &route && !route.post && route.lane == HttpLane::kShared;
  });
  if (same != nullptr) {
    std::vector<Ticket>& tickets = same->tickets;
    if (tickets.size() >= max_tickets_) {
      std::erase_if(tickets, [&wanted](Ticket t) { return !wanted(t); });
    }
    if (tickets.size() >= max_tickets_) return false;
    tickets.push_back(ticket);
    return true;
  }
  const std::string client = request.client;
  if (ShareLeft(Queued(client), Queued(), max_calls_, request.admin) == 0) return false;
  calls_.Push(client, {.route = &route, .request = std::move(request), .tickets = {ticket}});
  wake_.NotifyOne();
  return true;
}

size_t HttpAnswerer::waiting() const {
  const MutexLock lock(mutex_);
  return Queued();
}

size_t HttpAnswerer::Queued(const std::string& client) const {
  const auto running = running_.find(client);
  return calls_.SizeOf(client) + (running == running_.end() ? 0 : running->second.size());
}

std::optional<HttpAnswerer::Call> HttpAnswerer::Next() {
  while (!calls_.empty()) {
    Call next = calls_.Pop();
    const auto [running, starts] = running_.try_emplace(next.request.client);
    if (starts) return next;
    running->second.push_back(std::move(next));
    ++behind_;
  }
  return std::nullopt;
}

void HttpAnswerer::Run() {
  while (true) {
    std::optional<Call> call;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && !(call = Next())) wake_.Wait(mutex_);
      if (stopping_) return;
    }
    const std::string client = call->request.client;
    HttpResponse response = CallRoute(*call->route, call->request);
    deliver_(std::move(call->tickets), std::move(response));
    const MutexLock lock(mutex_);
    std::deque<Call> behind = std::move(running_.extract(client).mapped());
    behind_ -= behind.size();
    // Puts back the client's calls that Next reached while this call ran, in their old order.
    for (auto next = behind.rbegin(); next != behind.rend(); ++next) {
      calls_.PutBack(client, std::move(*next));
    }
    if (!behind.empty()) wake_.NotifyOne();
  }
}

}  // namespace freshet
