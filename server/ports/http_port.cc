#include "server/ports/http_port.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "boost/asio/bind_executor.hpp"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/ssl/stream.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/asio/write.hpp"
#include "core/base/check.h"
#include "server/base/answer_limits.h"
#include "server/base/client_network.h"
#include "server/base/places.h"
#include "server/logs/loggers.h"
#include "server/ports/http_answerer.h"
#include "server/ports/listen.h"

namespace freshet {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Ticket = HttpAnswerer::Ticket;

// After the system had no descriptor for a connection.
constexpr Duration kAcceptPause = Duration::Millis(100);
// Connections that are taken before others that are open are looked at again: one that is new would
// else wait for a request of each of these, for each connection that came before it.
constexpr int kTakenAtOnce = 64;
constexpr Duration kComplaintInterval = Duration::Seconds(60);
// How long answers may still leave when the port stops.
constexpr Duration kStopTime = Duration::Seconds(1);
// What a client may still send to a connection that is done.
constexpr size_t kMaxLingeringBytes = 1 << 20;
// Where no network has more than one connection, a younger one than this makes no room.
constexpr Duration kYoung = Duration::Seconds(1);

// As in HttpStats. Counted by the loop's thread, read by any.
struct HttpCounters {
  std::atomic<size_t> open = 0;
  std::atomic<uint64_t> taken = 0;
  std::atomic<uint64_t> failed = 0;
  std::atomic<uint64_t> evicted = 0;
  std::atomic<uint64_t> idle = 0;
  std::atomic<uint64_t> timed_out = 0;
  std::atomic<uint64_t> refused = 0;
};

HttpResponse Busy() {
  return RetryResponse(503, "the server has too much to answer", Duration::Seconds(1));
}

// Readers are told the most that any route takes.
HttpOptions WithMostBody(HttpOptions options, const std::vector<HttpRoute>& routes) {
  for (const HttpRoute& route : routes) {
    options.sizes.most_body_bytes = std::max(options.sizes.most_body_bytes, route.body_bytes);
  }
  return options;
}

}  // namespace

// Everything but construction, Start and Stop happens on the loop's thread, and handshakes, which
// take milliseconds each, on one of their own.
class HttpPort::Impl {
 public:
  Impl(std::vector<HttpRoute> routes, HttpOptions options);
  StatusOr<int> Start(const std::string& address);
  void Stop();
  [[nodiscard]] HttpStats stats() const;

 private:
  class Connection;
  // First the one that has been without a whole request the longest.
  using Connections = std::list<std::shared_ptr<Connection>>;

  // What one network has (server/base/client_network.h).
  struct Client {
    size_t connections = 0;
    size_t handshakes = 0;                   // under way
    size_t unsent = 0;                       // bytes of answers
    std::deque<Connection*> to_shake_hands;  // when others have
  };

  void Accept();
  // Whether there is room for one more connection, or can be made.
  [[nodiscard]] bool HasRoom();
  // The one that has been without a whole request the longest, of a client that has the most.
  // Precondition: there are some.
  [[nodiscard]] Connection& Weakest();
  // Begins the handshake now, or when fewer of its client are under way.
  void ShakeHands(Connection& connection);
  void OnHandsShaken(const IpAddress& network);
  void Leave(Connection& connection);
  void OnAccepted(error_code error, tcp::socket socket);
  void Take(tcp::socket socket);
  void PauseAccepting(const std::string& reason);
  void BeginStop();
  void CloseAll();
  void Deliver(const std::vector<Ticket>& tickets, const HttpResponse& response);
  // Zero: the answerer has too much to do.
  [[nodiscard]] Ticket Ask(const HttpRoute& route, HttpRequest request, Connection& connection);
  [[nodiscard]] HttpAnswerer& AnswererOf(const HttpRoute& route) {
    return answerers_[static_cast<size_t>(route.lane)];
  }
  [[nodiscard]] HttpAnswerer MakeAnswerer();
  // Makes room for so many bytes more, of an answer that `by` is about to write: a client that has
  // the most loses its oldest.
  void AddUnsent(size_t bytes, const Connection& by);
  void RemoveUnsent(size_t bytes, const Connection& by);
  // Sets HttpRequest::client and ::admin.
  void Recognise(HttpRequest* request) const;
  // A place for a large body of that client. If there is none, the oldest of its own that has taken
  // long loses its place, or where it has none, the oldest of anybody's.
  [[nodiscard]] std::optional<Places::Place> TakeLargePlace(const HttpRequest& head);

  const std::vector<HttpRoute> routes_;
  const HttpOptions options_;
  asio::io_context context_{1};
  asio::io_context handshakes_{1};
  asio::executor_work_guard<asio::io_context::executor_type> shakes_on_{handshakes_.get_executor()};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  asio::steady_timer silence_{context_};
  asio::steady_timer stop_timer_{context_};
  Connections connections_;
  size_t closing_ = 0;  // closed, but the handshake of each is still under way
  absl::flat_hash_map<IpAddress, Client> clients_;  // none without anything
  absl::flat_hash_map<Ticket, Connection*> waiting_;
  Ticket next_ticket_ = 1;
  size_t unsent_bytes_ = 0;
  Places large_places_{options_.max_large_bodies};
  std::list<Connection*> large_bodies_;  // first the one that began first
  bool silent_ = false;                  // has complained lately
  bool stopping_ = false;
  HttpCounters counters_;
  std::array<HttpAnswerer, kHttpLanes> answerers_;  // by lane
  std::thread thread_;
  std::thread handshakes_thread_;
};

// One client. Lives until it is closed and the last of its operations is over.
class HttpPort::Impl::Connection : public std::enable_shared_from_this<Connection> {
  using Clock = std::chrono::steady_clock;

 public:
  Connection(Impl& port, tcp::socket socket)
      : port_(port),
        socket_(std::move(socket)),
        deadline_(port.context_),
        reader_(port.options_.sizes, [this](const HttpRequest& head, size_t* bytes) {
          return AdmitLarge(head, bytes);
        }) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    peer_ = socket_.remote_endpoint(ignored).address().to_string();
    if (const auto address = ParseIpAddress(peer_)) network_ = NetworkOf(*address);
    if (port.options_.tls) {
      // It keeps what it needs of the material.
      SSL* tls = SSL_new(port.options_.tls()->context.get());
      CHECK(tls != nullptr, "no memory for a connection");
      tls_ = std::make_unique<TlsStream>(socket_, tls);
      // Asked before the costly part of a handshake: nobody waits any more for that of a connection
      // that was closed meanwhile.
      const auto still_wanted = [](SSL*, void* self) {
        return static_cast<Connection*>(self)->given_up_ ? 0 : 1;
      };
      SSL_set_cert_cb(tls, still_wanted, this);
    }
  }

  void Begin(Connections::iterator place) {
    place_ = place;
    BeginRequest();
    if (tls_ == nullptr) return Read();
    // A part of the first request, as far as time goes.
    port_.ShakeHands(*this);
  }
  // Until this ends the connection is the other thread's, but for its state.
  void ShakeHands() {
    shaking_hands_ = true;
    auto on_shaken = [self = shared_from_this()](const error_code& error) mutable {
      asio::io_context& loop = self->port_.context_;
      asio::post(loop, [self = std::move(self), error] { self->OnHandshake(error); });
    };
    tls_->async_handshake(asio::ssl::stream_base::server,
                          asio::bind_executor(port_.handshakes_, std::move(on_shaken)));
  }
  // Drops everything at once.
  void Close() {
    if (state_ == State::kClosed) return;
    const std::shared_ptr<Connection> self = shared_from_this();
    error_code ignored;
    // What the client does not take must not stay with the system either.
    if (state_ == State::kWriting) {
      socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    }
    SetState(State::kClosed);
    --port_.counters_.open;
    ForgetLarge();
    deadline_.cancel();
    if (shaking_hands_) {
      // The other thread finds out by itself.
      given_up_ = true;
      ++port_.closing_;
      (void)shutdown(socket_.native_handle(), SHUT_RDWR);
    } else {
      socket_.close(ignored);
    }
    port_.waiting_.erase(ticket_);
    port_.connections_.erase(place_);
    port_.Leave(*this);
    if (port_.stopping_ && port_.connections_.empty()) port_.stop_timer_.cancel();
  }
  void Evict() {
    ++port_.counters_.evicted;
    Close();
  }
  // The port stops, and the answerer has stopped: what is being written may still leave.
  void OnStop() {
    if (state_ == State::kAnswering) {
      Answer(TextResponse(503, "the server is stopping"), false);
    } else if (state_ != State::kWriting) {
      Close();
    }
  }
  // What the ticket was for.
  void OnAnswer(const HttpResponse& response) {
    if (state_ == State::kAnswering) Answer(response, keep_alive_);
  }
  // Whether another may have the place of the large body that is being read.
  [[nodiscard]] bool SlowWithLargeBody() const {
    return state_ == State::kReading && large_ && large_->others_from < Clock::now();
  }
  // The client that has the place of the body.
  [[nodiscard]] const std::string& large_client() const { return large_->client; }
  [[nodiscard]] const IpAddress& network() const { return network_; }
  [[nodiscard]] bool young() const { return Clock::now() < began_ + kYoung.chrono(); }
  [[nodiscard]] size_t unsent() const { return state_ == State::kWriting ? answer_.size() : 0; }

 private:
  enum class State {
    kReading,
    kAnswering,  // waits for the answerer
    kWriting,
    kLingering,  // has told the client that this was all, and reads until it ends too
    kClosed,
  };
  void SetState(State state) {
    if (state_ == State::kWriting) port_.RemoveUnsent(answer_.size(), *this);
    state_ = state;
  }

  void SetDeadline(Duration after) { SetDeadline(Clock::now() + after.chrono()); }
  void SetDeadline(Clock::time_point at) {
    deadline_.expires_at(at);
    deadline_.async_wait([self = shared_from_this(), turn = ++deadline_turn_](const error_code& e) {
      if (!e && turn == self->deadline_turn_) self->OnDeadline();
    });
  }
  // The first byte of a request may come, or has.
  void BeginRequest() {
    request_end_ = Clock::now() + port_.options_.request_time.chrono();
    request_timed_ = true;
    SetDeadline(request_end_);
  }
  // Until when it must be whole. A large body must come at a least rate besides.
  [[nodiscard]] Clock::time_point RequestEnd() const {
    if (!large_) return request_end_;
    const Duration of_bytes =
        Duration::FromSeconds(static_cast<double>(large_->bytes) / limits::kLeastBytesPerSecond);
    return std::min(request_end_, large_->others_from + of_bytes.chrono());
  }
  void OnDeadline() {
    if (state_ == State::kReading && reader_.begun()) {
      if (RequestEnd() > Clock::now()) return SetDeadline(RequestEnd());
      ++port_.counters_.timed_out;
      Answer(TextResponse(408, "the request took too long"), false);
    } else if (state_ == State::kAnswering) {
      port_.waiting_.erase(ticket_);
      Refuse(false);
    } else {
      if (state_ == State::kReading) ++port_.counters_.idle;
      if (state_ == State::kWriting) ++port_.counters_.timed_out;
      Close();
    }
  }

  void OnHandshake(const error_code& error) {
    shaking_hands_ = false;
    port_.OnHandsShaken(network_);
    if (given_up_) --port_.closing_;
    if (state_ == State::kClosed) return;
    if (error) return Close();
    names_ = PeerNames(tls_->native_handle());
    certificate_ends_ = PeerCertificateEnd(tls_->native_handle());
    Read();
  }

  void Read() {
    if (std::exchange(reading_, true)) return;
    auto on_read = [self = shared_from_this()](const error_code& error, size_t size) {
      self->OnRead(error, size);
    };
    // What comes after the end is of no interest, deciphered or not.
    if (tls_ != nullptr && state_ != State::kLingering) {
      tls_->async_read_some(asio::buffer(chunk_), std::move(on_read));
    } else {
      socket_.async_read_some(asio::buffer(chunk_), std::move(on_read));
    }
  }
  void OnRead(const error_code& error, size_t size) {
    reading_ = false;
    if (state_ == State::kClosed) return;
    if (state_ == State::kLingering) {
      lingering_bytes_ += size;
      if (error || lingering_bytes_ > kMaxLingeringBytes) return Close();
      return Read();
    }
    // The answer to a request that took too long is on its way.
    if (state_ != State::kReading) return;
    if (error) return Close();
    reader_.Give({chunk_.data(), size});
    if (large_) large_->bytes += size;
    GoOn();
  }

  // Takes the next request out of what was read, or reads on.
  void GoOn() {
    if (reader_.begun() && !request_timed_) BeginRequest();
    switch (reader_.Read()) {
      case HttpReader::State::kRequest:
        return Handle(reader_.TakeRequest());
      case HttpReader::State::kRefused:
        return Answer(reader_.TakeRefusal(), false);
      case HttpReader::State::kWantsMore:
        break;
    }
    if (reader_.TakeExpectation()) {
      // It fits into the buffer of a connection that has nothing to send; a client that does not
      // get it sends the body after a while all the same.
      // Under TLS it would have to wait its turn.
      error_code ignored;
      if (tls_ == nullptr) {
        socket_.write_some(asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), ignored);
      }
    }
    Read();
  }

  // What is known of the client besides what it says.
  void Complete(HttpRequest* request) const {
    request->peer = peer_;
    request->secure = tls_ != nullptr;
    request->certificate = names_.has_value();
    if (names_) request->certificate_names = *names_;
    request->certificate_ends = certificate_ends_;
  }

  // Whether a body may be larger than usual: HttpReader::OnHead.
  std::optional<HttpResponse> AdmitLarge(HttpRequest head, size_t* bytes) {
    HttpResponse refusal;
    const HttpRoute* route = FindRoute(port_.routes_, head, &refusal);
    if (route == nullptr || route->body_bytes <= *bytes) return std::nullopt;
    Complete(&head);
    if (port_.options_.guard) {
      if (auto denied = port_.options_.guard(*route, head)) return denied;
    }
    port_.Recognise(&head);
    std::optional<Places::Place> place = port_.TakeLargePlace(head);
    if (!place) {
      ++port_.counters_.refused;
      return Busy();
    }
    auto& all = port_.large_bodies_;
    large_.emplace(
        LargeBody{.place = *std::move(place),
                  .client = head.client,
                  .at = all.insert(all.end(), this),
                  .others_from = Clock::now() + port_.options_.large_body_time.chrono()});
    SetDeadline(RequestEnd());
    *bytes = route->body_bytes;
    return std::nullopt;
  }
  void ForgetLarge() {
    if (large_) port_.large_bodies_.erase(large_->at);
    large_.reset();
  }

  void Handle(HttpRequest request) {
    port_.connections_.splice(port_.connections_.end(), port_.connections_, place_);
    Complete(&request);
    head_only_ = request.method == "HEAD";
    keep_alive_ = request.keep_alive;
    HttpResponse refusal;
    const HttpRoute* route = FindRoute(port_.routes_, request, &refusal);
    if (route == nullptr) return Answer(refusal, keep_alive_);
    // Of each request by itself: one call of a route may answer many.
    if (port_.options_.guard) {
      if (const auto denied = port_.options_.guard(*route, request)) {
        return Answer(*denied, keep_alive_);
      }
    }
    if (!route->slow) return Answer(CallRoute(*route, request), keep_alive_);
    port_.Recognise(&request);
    SetState(State::kAnswering);
    SetDeadline(port_.options_.answer_time);
    ticket_ = port_.Ask(*route, std::move(request), *this);
    if (ticket_ == 0) Refuse(keep_alive_);
  }

  // There is too much to do.
  void Refuse(bool keep_alive) {
    ++port_.counters_.refused;
    Answer(Busy(), keep_alive);
  }

  void Answer(const HttpResponse& response, bool keep_alive) {
    ForgetLarge();
    ends_ = !keep_alive || port_.stopping_;
    answer_ = response;
    head_ = HttpHead(response, !ends_);
    if (head_only_) answer_.body = nullptr;
    port_.AddUnsent(answer_.size(), *this);
    SetState(State::kWriting);
    SetDeadline(port_.options_.answer_time);
    std::array<asio::const_buffer, 2> buffers = {asio::buffer(head_)};
    if (answer_.body != nullptr) buffers[1] = asio::buffer(*answer_.body);
    auto on_written = [self = shared_from_this()](const error_code& error, size_t) {
      self->OnWritten(error);
    };
    if (tls_ != nullptr) {
      asio::async_write(*tls_, buffers, std::move(on_written));
    } else {
      asio::async_write(socket_, buffers, std::move(on_written));
    }
  }

  void OnWritten(const error_code& error) {
    if (state_ == State::kClosed) return;
    if (error) return Close();
    SetState(ends_ ? State::kLingering : State::kReading);
    answer_ = {};
    if (!ends_) {
      SetDeadline(port_.options_.idle_time);
      request_timed_ = false;
      head_only_ = false;
      return GoOn();
    }
    SetDeadline(port_.options_.linger_time);
    if (tls_ == nullptr) return Linger();
    // Says that this was all, so that nobody can cut an answer short unnoticed.
    tls_->async_shutdown([self = shared_from_this()](const error_code&) { self->Linger(); });
  }

  // Closing at once would drop the answer when there is something that was not read.
  void Linger() {
    if (state_ == State::kClosed) return;
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    Read();
  }

  using TlsStream = asio::ssl::stream<tcp::socket&>;
  struct LargeBody {
    Places::Place place;
    std::string client;
    std::list<Connection*>::iterator at;  // in the port's list
    Clock::time_point others_from;        // may have the place
    size_t bytes = 0;                     // that have come since
  };

  Impl& port_;
  tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;                 // null: plain text
  std::optional<std::vector<std::string>> names_;  // of the client's certificate, if there is one
  Instant certificate_ends_ = Instant::Infinite();
  asio::steady_timer deadline_;
  uint64_t deadline_turn_ = 0;
  HttpReader reader_;
  std::array<char, 4096> chunk_{};
  std::string peer_;
  IpAddress network_;
  Connections::iterator place_;
  State state_ = State::kReading;
  const Clock::time_point began_ = Clock::now();
  bool shaking_hands_ = false;
  std::atomic<bool> given_up_{false};  // closed while it shakes hands
  bool reading_ = false;               // a read is under way
  bool request_timed_ = false;         // the deadline is that of a request
  Clock::time_point request_end_;
  bool head_only_ = false;
  bool keep_alive_ = false;  // as the request has it
  bool ends_ = false;        // after the answer
  Ticket ticket_ = 0;
  std::string head_;
  HttpResponse answer_;
  size_t lingering_bytes_ = 0;
  std::optional<LargeBody> large_;  // one of those that the port counts
};

// --- The port

HttpPort::Impl::Impl(std::vector<HttpRoute> routes, HttpOptions options)
    : routes_(std::move(routes)),
      options_(WithMostBody(std::move(options), routes_)),
      answerers_{MakeAnswerer(), MakeAnswerer(), MakeAnswerer()} {}

HttpAnswerer HttpPort::Impl::MakeAnswerer() {
  const auto deliver = [this](std::vector<Ticket> tickets, HttpResponse response) {
    asio::post(context_, [this, tickets = std::move(tickets), response = std::move(response)] {
      Deliver(tickets, response);
    });
  };
  return {options_.max_waiting, options_.max_connections, deliver};
}

StatusOr<int> HttpPort::Impl::Start(const std::string& address) {
  CHECK(!thread_.joinable(), "runs already");
  ASSIGN_OR_RETURN(const ListeningSocket listening, Listen(address));
  error_code error;
  acceptor_.assign(listening.ipv6 ? tcp::v6() : tcp::v4(), listening.descriptor, error);
  if (!error) acceptor_.non_blocking(true, error);
  CHECK(!error, "an event loop that takes no socket: {}", error.message());
  Accept();
  for (HttpAnswerer& answerer : answerers_) answerer.Start();
  thread_ = std::thread([this] { context_.run(); });
  if (options_.tls) handshakes_thread_ = std::thread([this] { handshakes_.run(); });
  return listening.port;
}

void HttpPort::Impl::Stop() {
  if (!thread_.joinable()) return;
  for (HttpAnswerer& answerer : answerers_) answerer.Stop();
  asio::post(context_, [this] { BeginStop(); });
  thread_.join();
  handshakes_.stop();
  if (handshakes_thread_.joinable()) handshakes_thread_.join();
}

void HttpPort::Impl::BeginStop() {
  stopping_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  silence_.cancel();
  // Closing takes a connection out of the list.
  for (auto it = connections_.begin(); it != connections_.end();) (*it++)->OnStop();
  if (connections_.empty()) return;
  stop_timer_.expires_after(kStopTime.chrono());
  stop_timer_.async_wait([this](const error_code& error) {
    if (!error) CloseAll();
  });
}

void HttpPort::Impl::CloseAll() {
  while (!connections_.empty()) connections_.front()->Close();
}

void HttpPort::Impl::Accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    OnAccepted(error, std::move(socket));
  });
}

void HttpPort::Impl::OnAccepted(error_code error, tcp::socket socket) {
  if (stopping_) return;
  for (int more = kTakenAtOnce; error != asio::error::would_block;) {
    // A client that went away before it was served is no reason to pause.
    if (error && error != asio::error::connection_aborted) return PauseAccepting(error.message());
    if (!error) Take(std::move(socket));
    if (--more == 0) break;
    socket = acceptor_.accept(context_, error);
  }
  Accept();
}

void HttpPort::Impl::Take(tcp::socket socket) {
  ++counters_.taken;
  if (!HasRoom()) {
    ++counters_.evicted;
    return;
  }
  ++counters_.open;
  const auto place = connections_.insert(connections_.end(), nullptr);
  *place = std::make_shared<Connection>(*this, std::move(socket));
  ++clients_[(*place)->network()].connections;
  (*place)->Begin(place);
}

bool HttpPort::Impl::HasRoom() {
  // Each has a descriptor and memory until the other thread comes to it.
  if (closing_ > options_.max_connections / 4) return false;
  if (connections_.size() < options_.max_connections) return true;
  Connection& weakest = Weakest();
  // Many networks at once would otherwise end each other's connections before any is answered.
  if (weakest.young() && clients_[weakest.network()].connections == 1) return false;
  weakest.Evict();
  return true;
}

HttpPort::Impl::Connection& HttpPort::Impl::Weakest() {
  size_t most = 0;
  for (const auto& [network, client] : clients_) most = std::max(most, client.connections);
  return **std::find_if(connections_.begin(), connections_.end(), [&](const auto& one) {
    return clients_[one->network()].connections == most;
  });
}

void HttpPort::Impl::ShakeHands(Connection& connection) {
  Client& client = clients_[connection.network()];
  if (client.handshakes >= options_.max_handshakes_per_client) {
    client.to_shake_hands.push_back(&connection);
    return;
  }
  ++client.handshakes;
  connection.ShakeHands();
}

void HttpPort::Impl::OnHandsShaken(const IpAddress& network) {
  const auto it = clients_.find(network);
  CHECK(it != clients_.end() && it->second.handshakes > 0, "a handshake is not counted");
  Client& client = it->second;
  --client.handshakes;
  if (!client.to_shake_hands.empty()) {
    Connection& next = *client.to_shake_hands.front();
    client.to_shake_hands.pop_front();
    ShakeHands(next);
  } else if (client.connections + client.handshakes == 0) {
    clients_.erase(it);
  }
}

void HttpPort::Impl::Leave(Connection& connection) {
  const auto it = clients_.find(connection.network());
  CHECK(it != clients_.end() && it->second.connections > 0, "a connection is not counted");
  Client& client = it->second;
  std::erase(client.to_shake_hands, &connection);
  if (--client.connections + client.handshakes == 0) clients_.erase(it);
}

// Descriptors have run out, most likely: the connection that waits would be reported again at once.
void HttpPort::Impl::PauseAccepting(const std::string& reason) {
  ++counters_.failed;
  if (!connections_.empty()) Weakest().Evict();
  if (!std::exchange(silent_, true)) {
    Logger(LogModule::kPorts).warn("http: cannot accept a connection: {}", reason);
    silence_.expires_after(kComplaintInterval.chrono());
    silence_.async_wait([this](const error_code& error) {
      if (!error) silent_ = false;
    });
  }
  pause_.expires_after(kAcceptPause.chrono());
  pause_.async_wait([this](const error_code& error) {
    if (!error && !stopping_) Accept();
  });
}

Ticket HttpPort::Impl::Ask(const HttpRoute& route, HttpRequest request, Connection& connection) {
  const Ticket ticket = next_ticket_++;
  const bool asked = AnswererOf(route).Ask(
      route, std::move(request), ticket, [this](Ticket other) { return waiting_.contains(other); });
  if (!asked) return 0;
  waiting_[ticket] = &connection;
  return ticket;
}

void HttpPort::Impl::Deliver(const std::vector<Ticket>& tickets, const HttpResponse& response) {
  for (const Ticket ticket : tickets) {
    const auto it = waiting_.find(ticket);
    if (it == waiting_.end()) continue;
    const std::shared_ptr<Connection> connection = it->second->shared_from_this();
    waiting_.erase(it);
    connection->OnAnswer(response);
  }
}

void HttpPort::Impl::AddUnsent(size_t bytes, const Connection& by) {
  unsent_bytes_ += bytes;
  clients_[by.network()].unsent += bytes;
  while (unsent_bytes_ > options_.max_unsent_bytes) {
    std::shared_ptr<Connection> of_most;
    for (const auto& one : connections_) {
      if (one->unsent() == 0) continue;
      if (of_most == nullptr ||
          clients_[one->network()].unsent > clients_[of_most->network()].unsent) {
        of_most = one;
      }
    }
    if (of_most == nullptr) return;
    of_most->Evict();
  }
}

void HttpPort::Impl::RemoveUnsent(size_t bytes, const Connection& by) {
  unsent_bytes_ -= bytes;
  clients_[by.network()].unsent -= bytes;
}

void HttpPort::Impl::Recognise(HttpRequest* request) const {
  request->client = request->peer;
  if (options_.recognise) options_.recognise(request);
}

std::optional<Places::Place> HttpPort::Impl::TakeLargePlace(const HttpRequest& head) {
  auto place = large_places_.Take(head.client, head.admin);
  if (place) return place;
  const auto own = [&](const Connection* one) { return one->large_client() == head.client; };
  const bool has_some = std::any_of(large_bodies_.begin(), large_bodies_.end(), own);
  const auto slow = std::find_if(
      large_bodies_.begin(), large_bodies_.end(),
      [&](const Connection* one) { return one->SlowWithLargeBody() && (!has_some || own(one)); });
  if (slow == large_bodies_.end()) return std::nullopt;
  (*slow)->Evict();
  return large_places_.Take(head.client, head.admin);
}

HttpStats HttpPort::Impl::stats() const {
  size_t waiting = 0;
  for (const HttpAnswerer& answerer : answerers_) waiting += answerer.waiting();
  return {.open = counters_.open,
          .limit = options_.max_connections,
          .taken = counters_.taken,
          .failed = counters_.failed,
          .evicted = counters_.evicted,
          .idle = counters_.idle,
          .timed_out = counters_.timed_out,
          .waiting = waiting,
          .refused = counters_.refused};
}

HttpPort::HttpPort(std::vector<HttpRoute> routes, HttpOptions options)
    : impl_(std::make_unique<Impl>(std::move(routes), options)) {}
HttpPort::~HttpPort() { Stop(); }
StatusOr<int> HttpPort::Start(const std::string& address) { return impl_->Start(address); }
void HttpPort::Stop() { impl_->Stop(); }
HttpStats HttpPort::stats() const { return impl_->stats(); }

}  // namespace freshet
