#include "server/ports/http_answerer.h"

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

HttpAnswerer::HttpAnswerer(size_t max_calls, size_t max_tickets, Deliver deliver)
    : max_calls_(max_calls), max_tickets_(max_tickets), deliver_(std::move(deliver)) {}

HttpAnswerer::~HttpAnswerer() { Stop(); }

void HttpAnswerer::Start() {
  thread_ = std::thread([this] { Run(); });
}

void HttpAnswerer::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
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
  if (ShareLeft(calls_.SizeOf(client), calls_.size(), max_calls_, request.admin) == 0) return false;
  calls_.Push(client, {.route = &route, .request = std::move(request), .tickets = {ticket}});
  wake_.NotifyOne();
  return true;
}

size_t HttpAnswerer::waiting() const {
  const MutexLock lock(mutex_);
  return calls_.size();
}

void HttpAnswerer::Run() {
  while (true) {
    Call call;
    {
      const MutexLock lock(mutex_);
      while (calls_.empty() && !stopping_) wake_.Wait(mutex_);
      if (stopping_) return;
      call = calls_.Pop();
    }
    HttpResponse response = CallRoute(*call.route, call.request);
    deliver_(std::move(call.tickets), std::move(response));
  }
}

}  // namespace freshet
