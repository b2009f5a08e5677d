#include "server/ports/http_port.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <map>
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
#include "server/base/places.h"
#include "server/ports/arrivals.h"
#include "server/ports/http_answerer.h"

namespace freshet {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Ticket = HttpAnswerer::Ticket;

// New connections that are taken before open ones are served again. If only one were taken at a
// time, each would have to wait until all open connections were served.
constexpr int kTakenAtOnce = 64;
// A call of the console can take seconds. Only one call of each client runs at a time, so no client
// can occupy all threads.
constexpr size_t kConsoleThreads = 4;
// The time for sending the remaining answers when the port stops.
constexpr Duration kStopTime = Duration::Seconds(1);
// Bytes that a client may still send on a finished connection.
constexpr size_t kMaxLingeringBytes = 1 << 20;
// If no network has more than one connection, a connection younger than this is not closed to make
// room.
constexpr Duration kYoung = Duration::Seconds(1);

// Counters of HttpStats. Written on the loop's thread and read on any thread.
struct HttpCounters {
  std::atomic<size_t> open = 0;
  std::atomic<uint64_t> taken = 0;
  std::atomic<uint64_t> evicted = 0;
  std::atomic<uint64_t> idle = 0;
  std::atomic<uint64_t> timed_out = 0;
  std::atomic<uint64_t> refused = 0;
};

HttpResponse Busy() {
  return RetryResponse(503, "the server has too much to answer", Duration::Seconds(1));
}

// Sets HttpSizes::most_body_bytes to the highest body limit of any route.
HttpOptions WithMostBody(HttpOptions options, const std::vector<HttpRoute>& routes) {
  for (const HttpRoute& route : routes) {
    options.sizes.most_body_bytes = std::max(options.sizes.most_body_bytes, route.body_bytes);
  }
  return options;
}

}  // namespace

// The state of the port. Everything except construction, Start and Stop runs on the loop's thread.
// Handshakes, which take milliseconds each, run on a separate thread.
class HttpPort::Impl {
 public:
  Impl(std::vector<HttpRoute> routes, HttpOptions options);
  StatusOr<int> Start(const std::string& address);
  void Stop();
  [[nodiscard]] HttpStats stats() const;

 private:
  class Connection;
  // A connection and its place in the order of last complete requests. Opening a connection counts
  // as a request.
  struct Seat {
    std::shared_ptr<Connection> connection;
    uint64_t since = 0;
  };
  using Connections = std::list<Seat>;
  // A client's number of connections, and how long the first of them has been without a complete
  // request; higher = longer. No two clients have the same rank.
  using Rank = std::pair<size_t, uint64_t>;

  // The state of one network (server/base/client_network.h).
  struct Client {
    Connections connections;                 // longest without a complete request first
    Rank rank;                               // its key in ranks_, if it has connections
    size_t handshakes = 0;                   // in progress
    size_t unsent = 0;                       // bytes of answers
    std::deque<Connection*> to_shake_hands;  // waiting until other handshakes end
  };

  // Takes some of the arrivals.
  void TakeArrivals();
  void Take(const Arrivals::Arrival& arrival);
  // Called when the system has no descriptors or memory for another connection.
  void OnLacking();
  // Returns true if there is room for one more connection. Evicts a connection to make room if it
  // can.
  [[nodiscard]] bool HasRoom();
  // Returns the connection that has been longest without a complete request, among those of a
  // client with the most connections. Precondition: there are connections.
  [[nodiscard]] Connection& Weakest();
  // Begins the handshake now, or when fewer handshakes of its client are in progress.
  void ShakeHands(Connection& connection);
  void OnHandsShaken(const IpAddress& network);
  // Called when the connection has sent a complete request.
  void OnRequest(Connections::iterator seat);
  void Leave(Connections::iterator seat);
  // Called when the client's connections or their order have changed.
  void SetRank(const IpAddress& network, Client& client);
  [[nodiscard]] std::vector<std::shared_ptr<Connection>> All() const;
  void BeginStop();
  void Deliver(const std::vector<Ticket>& tickets, const HttpResponse& response);
  // Queues the request at the answerer; 0 = the answerer has too much to do.
  [[nodiscard]] Ticket Ask(const HttpRoute& route, HttpRequest request, Connection& connection);
  [[nodiscard]] HttpAnswerer& AnswererOf(const HttpRoute& route) {
    return answerers_[static_cast<size_t>(route.lane)];
  }
  [[nodiscard]] HttpAnswerer MakeAnswerer(size_t threads);
  // Makes room for `bytes` of an answer that `by` is about to write. If necessary, closes the
  // oldest writing connection of the client that has the most unsent bytes.
  void AddUnsent(size_t bytes, const Connection& by);
  void RemoveUnsent(size_t bytes, const Connection& by);
  // Sets HttpRequest::client and ::admin.
  void Recognise(HttpRequest* request) const;
  // Takes a place for a large body of the client. If no place is free, evicts the connection with
  // the oldest slow body and takes its place. If the client has large bodies itself, only its own
  // connections can be evicted.
  [[nodiscard]] std::optional<Places::Place> TakeLargePlace(const HttpRequest& head);

  const std::vector<HttpRoute> routes_;
  const HttpOptions options_;
  asio::io_context context_{1};
  asio::io_context handshakes_{1};
  asio::executor_work_guard<asio::io_context::executor_type> shakes_on_{handshakes_.get_executor()};
  // Keeps the loop running until the port stops.
  asio::executor_work_guard<asio::io_context::executor_type> goes_on_{context_.get_executor()};
  Arrivals arrivals_{options_.max_connections};
  asio::steady_timer stop_timer_{context_};
  size_t closing_ = 0;  // closed connections whose handshake is still in progress
  absl::flat_hash_map<IpAddress, Client> clients_;  // no entry is empty
  std::map<Rank, IpAddress> ranks_;                 // clients with connections
  uint64_t seated_ = 0;                             // the last Seat::since
  absl::flat_hash_map<Ticket, Connection*> waiting_;
  Ticket next_ticket_ = 1;
  size_t unsent_bytes_ = 0;
  Places large_places_{options_.max_large_bodies};
  std::list<Connection*> large_bodies_;  // in the order in which their bodies began
  bool stopping_ = false;
  HttpCounters counters_;
  std::array<HttpAnswerer, kHttpLanes> answerers_;  // by lane
  std::thread thread_;
  std::thread handshakes_thread_;
};

// One connection. Lives until it is closed and its last operation has ended.
class HttpPort::Impl::Connection : public std::enable_shared_from_this<Connection> {
  using Clock = std::chrono::steady_clock;

 public:
  Connection(Impl& port, tcp::socket socket, const IpAddress& network)
      : port_(port),
        socket_(std::move(socket)),
        deadline_(port.context_),
        reader_(port.options_.sizes,
                [this](const HttpRequest& head, size_t* bytes) { return AdmitLarge(head, bytes); }),
        network_(network) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(tcp::no_delay(true), ignored);
    peer_ = socket_.remote_endpoint(ignored).address().to_string();
    if (port.options_.tls) {
      // The SSL object keeps references to the parts of the material that it needs.
      SSL* tls = SSL_new(port.options_.tls()->context.get());
      CHECK(tls != nullptr, "no memory for a connection");
      tls_ = std::make_unique<TlsStream>(socket_, tls);
      // Called before the expensive part of a handshake. Stops the handshake if the connection was
      // closed meanwhile.
      const auto still_wanted = [](SSL*, void* self) {
        return static_cast<Connection*>(self)->given_up_ ? 0 : 1;
      };
      SSL_set_cert_cb(tls, still_wanted, this);
    }
  }

  void Begin(Connections::iterator seat) {
    seat_ = seat;
    BeginRequest();
    if (tls_ == nullptr) return Read();
    // The time limit of the first request includes the handshake.
    port_.ShakeHands(*this);
  }
  // Until the handshake ends, the handshake thread owns the connection, except for its state.
  void ShakeHands() {
    shaking_hands_ = true;
    auto on_shaken = [self = shared_from_this()](const error_code& error) mutable {
      asio::io_context& loop = self->port_.context_;
      asio::post(loop, [self = std::move(self), error] { self->OnHandshake(error); });
    };
    tls_->async_handshake(asio::ssl::stream_base::server,
                          asio::bind_executor(port_.handshakes_, std::move(on_shaken)));
  }
  // Closes the connection and drops all unsent data.
  void Close() {
    if (state_ == State::kClosed) return;
    const std::shared_ptr<Connection> self = shared_from_this();
    error_code ignored;
    // The kernel must not keep unsent bytes either.
    if (state_ == State::kWriting) {
      socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    }
    SetState(State::kClosed);
    --port_.counters_.open;
    ForgetLarge();
    deadline_.cancel();
    if (shaking_hands_) {
      // still_wanted stops the handshake on its thread.
      given_up_ = true;
      ++port_.closing_;
      (void)shutdown(socket_.native_handle(), SHUT_RDWR);
    } else {
      socket_.close(ignored);
    }
    port_.waiting_.erase(ticket_);
    port_.Leave(seat_);
    if (port_.stopping_ && port_.counters_.open == 0) port_.stop_timer_.cancel();
  }
  void Evict() {
    ++port_.counters_.evicted;
    Close();
  }
  // Called when the port and the answerer stop. An answer that is being written may still be sent.
  void OnStop() {
    if (state_ == State::kAnswering) {
      Answer(TextResponse(503, "the server is stopping"), false);
    } else if (state_ != State::kWriting) {
      Close();
    }
  }
  // Receives the answer for this connection's ticket.
  void OnAnswer(const HttpResponse& response) {
    if (state_ == State::kAnswering) Answer(response, keep_alive_);
  }
  // Returns true if a large body is being received and may lose its place.
  [[nodiscard]] bool SlowWithLargeBody() const {
    return state_ == State::kReading && large_ && large_->others_from < Clock::now();
  }
  // The client that holds the place of the body.
  [[nodiscard]] const std::string& large_client() const { return large_->client; }
  [[nodiscard]] const IpAddress& network() const { return network_; }
  [[nodiscard]] bool young() const { return Clock::now() < began_ + kYoung.chrono(); }
  [[nodiscard]] size_t unsent() const { return state_ == State::kWriting ? answer_.size() : 0; }

 private:
  enum class State {
    kReading,
    kAnswering,  // waits for the answerer
    kWriting,
    kLingering,  // has closed the sending side, and reads until the client closes too
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
  // Starts the time limit of a request.
  void BeginRequest() {
    request_end_ = Clock::now() + port_.options_.request_time.chrono();
    request_timed_ = true;
    SetDeadline(request_end_);
  }
  // The deadline of the request. A large body must also arrive at a minimum rate.
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
    // The server ignores what comes after its last answer, so it need not decrypt these bytes.
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
    // If the request timed out during the read, the answer 408 is being written now.
    if (state_ != State::kReading) return;
    if (error) return Close();
    reader_.Give({chunk_.data(), size});
    if (large_) large_->bytes += size;
    GoOn();
  }

  // Handles the next request in the received bytes, or reads more bytes.
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
      // The status line fits into the send buffer of an idle connection. A client that misses it
      // sends the body after a while anyway. With TLS the line could not be written synchronously.
      error_code ignored;
      if (tls_ == nullptr) {
        socket_.write_some(asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), ignored);
      }
    }
    Read();
  }

  // Adds what is known about the client beyond the request.
  void Complete(HttpRequest* request) const {
    request->peer = peer_;
    request->secure = tls_ != nullptr;
    request->certificate = names_.has_value();
    if (names_) request->certificate_names = *names_;
    request->certificate_ends = certificate_ends_;
  }

  // Decides whether a body may be larger than usual (HttpReader::OnHead).
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
    port_.OnRequest(seat_);
    Complete(&request);
    head_only_ = request.method == "HEAD";
    keep_alive_ = request.keep_alive;
    HttpResponse refusal;
    const HttpRoute* route = FindRoute(port_.routes_, request, &refusal);
    if (route == nullptr) return Answer(refusal, keep_alive_);
    // Each request is checked separately, because one call of a route may answer many requests.
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

  // Answers that the server is too busy.
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
    // The TLS close notification proves that the answer is complete. Without it, somebody could
    // truncate the answer unnoticed.
    tls_->async_shutdown([self = shared_from_this()](const error_code&) { self->Linger(); });
  }

  // Continues to read until the client closes. Closing with unread bytes would drop the answer.
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
    Clock::time_point others_from;        // other bodies may take the place from then on
    size_t bytes = 0;                     // received so far
  };

  Impl& port_;
  tcp::socket socket_;
  std::unique_ptr<TlsStream> tls_;                 // nullptr = plain text
  std::optional<std::vector<std::string>> names_;  // of the client's certificate; unset = none
  Instant certificate_ends_ = Instant::Infinite();
  asio::steady_timer deadline_;
  uint64_t deadline_turn_ = 0;
  HttpReader reader_;
  std::array<char, 4096> chunk_{};
  std::string peer_;
  const IpAddress network_;
  Connections::iterator seat_;
  State state_ = State::kReading;
  const Clock::time_point began_ = Clock::now();
  bool shaking_hands_ = false;
  std::atomic<bool> given_up_{false};  // closed during the handshake
  bool reading_ = false;               // a read is in progress
  bool request_timed_ = false;         // the time limit of a request runs
  Clock::time_point request_end_;
  bool head_only_ = false;
  bool keep_alive_ = false;  // requested by the client
  bool ends_ = false;        // the connection ends after the answer
  Ticket ticket_ = 0;
  std::string head_;
  HttpResponse answer_;
  size_t lingering_bytes_ = 0;
  std::optional<LargeBody> large_;  // counted by the port
};

// --- The port

HttpPort::Impl::Impl(std::vector<HttpRoute> routes, HttpOptions options)
    : routes_(std::move(routes)),
      options_(WithMostBody(std::move(options), routes_)),
      answerers_{MakeAnswerer(1), MakeAnswerer(1), MakeAnswerer(kConsoleThreads)} {}

HttpAnswerer HttpPort::Impl::MakeAnswerer(size_t threads) {
  const auto deliver = [this](std::vector<Ticket> tickets, HttpResponse response) {
    asio::post(context_, [this, tickets = std::move(tickets), response = std::move(response)] {
      Deliver(tickets, response);
    });
  };
  return {options_.max_waiting, options_.max_connections, threads, deliver};
}

StatusOr<int> HttpPort::Impl::Start(const std::string& address) {
  CHECK(!thread_.joinable(), "runs already");
  ASSIGN_OR_RETURN(const int port, arrivals_.Listen(address));
  for (HttpAnswerer& answerer : answerers_) answerer.Start();
  thread_ = std::thread([this] { context_.run(); });
  if (options_.tls) handshakes_thread_ = std::thread([this] { handshakes_.run(); });
  arrivals_.Start([this] { asio::post(context_, [this] { TakeArrivals(); }); },
                  [this] { asio::post(context_, [this] { OnLacking(); }); });
  return port;
}

void HttpPort::Impl::Stop() {
  if (!thread_.joinable()) return;
  arrivals_.Stop();
  for (HttpAnswerer& answerer : answerers_) answerer.Stop();
  asio::post(context_, [this] { BeginStop(); });
  thread_.join();
  handshakes_.stop();
  if (handshakes_thread_.joinable()) handshakes_thread_.join();
}

void HttpPort::Impl::BeginStop() {
  stopping_ = true;
  goes_on_.reset();
  for (const auto& one : All()) one->OnStop();
  if (counters_.open == 0) return;
  stop_timer_.expires_after(kStopTime.chrono());
  stop_timer_.async_wait([this](const error_code& error) {
    if (error) return;
    for (const auto& one : All()) one->Close();
  });
}

std::vector<std::shared_ptr<HttpPort::Impl::Connection>> HttpPort::Impl::All() const {
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [network, client] : clients_) {
    for (const Seat& seat : client.connections) all.push_back(seat.connection);
  }
  return all;
}

void HttpPort::Impl::TakeArrivals() {
  for (int more = kTakenAtOnce; more > 0; --more) {
    const std::optional<Arrivals::Arrival> next = arrivals_.Take();
    // The next arrival triggers another call of TakeArrivals.
    if (!next) return;
    Take(*next);
  }
  asio::post(context_, [this] { TakeArrivals(); });
}

void HttpPort::Impl::Take(const Arrivals::Arrival& arrival) {
  tcp::socket socket(context_);
  error_code error;
  // Asio needs the protocol only to connect, and this socket is connected already.
  socket.assign(tcp::v6(), arrival.descriptor, error);
  ++counters_.taken;
  // The system lacks memory to watch the socket.
  if (error) close(arrival.descriptor);
  if (error || stopping_ || !HasRoom()) {
    ++counters_.evicted;
    return;
  }
  ++counters_.open;
  Client& client = clients_[arrival.network];
  const auto seat = client.connections.insert(
      client.connections.end(),
      {.connection = std::make_shared<Connection>(*this, std::move(socket), arrival.network),
       .since = ++seated_});
  SetRank(arrival.network, client);
  seat->connection->Begin(seat);
}

// The usual cause is that no descriptor is free, so closing a connection helps.
void HttpPort::Impl::OnLacking() {
  if (!ranks_.empty()) Weakest().Evict();
}

bool HttpPort::Impl::HasRoom() {
  // Each of these closed connections keeps a descriptor and memory until the handshake thread gets
  // to it.
  if (closing_ > options_.max_connections / 4) return false;
  if (counters_.open < options_.max_connections) return true;
  Connection& weakest = Weakest();
  // Without this rule, many networks at once would evict each other's connections before any is
  // answered.
  if (weakest.young() && ranks_.rbegin()->first.first == 1) return false;
  weakest.Evict();
  return true;
}

HttpPort::Impl::Connection& HttpPort::Impl::Weakest() {
  return *clients_[ranks_.rbegin()->second].connections.front().connection;
}

void HttpPort::Impl::OnRequest(Connections::iterator seat) {
  const IpAddress& network = seat->connection->network();
  Client& client = clients_[network];
  client.connections.splice(client.connections.end(), client.connections, seat);
  seat->since = ++seated_;
  SetRank(network, client);
}

void HttpPort::Impl::SetRank(const IpAddress& network, Client& client) {
  ranks_.erase(client.rank);
  if (client.connections.empty()) return;
  client.rank = {client.connections.size(), UINT64_MAX - client.connections.front().since};
  ranks_[client.rank] = network;
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
  } else if (client.connections.empty() && client.handshakes == 0) {
    clients_.erase(it);
  }
}

void HttpPort::Impl::Leave(Connections::iterator seat) {
  const IpAddress network = seat->connection->network();
  const auto it = clients_.find(network);
  CHECK(it != clients_.end(), "a connection is not counted");
  Client& client = it->second;
  std::erase(client.to_shake_hands, seat->connection.get());
  client.connections.erase(seat);
  SetRank(network, client);
  if (client.connections.empty() && client.handshakes == 0) clients_.erase(it);
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
    size_t most = 0;
    for (const auto& [network, client] : clients_) {
      if (client.unsent <= most) continue;
      const auto first =
          std::find_if(client.connections.begin(), client.connections.end(),
                       [](const Seat& seat) { return seat.connection->unsent() > 0; });
      if (first == client.connections.end()) continue;
      of_most = first->connection;
      most = client.unsent;
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
  const Arrivals::Stats arrivals = arrivals_.stats();
  size_t waiting = 0;
  for (const HttpAnswerer& answerer : answerers_) waiting += answerer.waiting();
  return {.open = counters_.open,
          .limit = options_.max_connections,
          .taken = counters_.taken + arrivals.dropped,
          .failed = arrivals.failed,
          .evicted = counters_.evicted + arrivals.dropped,
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
