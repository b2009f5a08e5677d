#include "server/ports/grpc_port.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"
#include "grpcpp/resource_quota.h"
#include "server/auth/on_behalf.h"
#include "server/base/client_network.h"
#include "server/base/ticker.h"
#include "server/config.h"
#include "server/logs/loggers.h"
#include "server/ports/call_turn.h"
#include "server/ports/watched_reads.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// The least interval between a client's pings. gRPC sends GOAWAY to a client that pings more often.
constexpr Duration kMinPingInterval = Duration::Seconds(1);
// A connection that has not completed its handshake after this time is closed.
constexpr Duration kHandshake = Duration::Seconds(20);
// gRPC's memory for a connection, and for a call.
constexpr size_t kBytesPerConnection = size_t{32} << 10;
constexpr size_t kBytesPerCall = size_t{16} << 10;
// The number of messages of the largest size that may be partly received at a time.
constexpr size_t kPartialMessages = 16;
// gRPC keeps a call that the server has ended until the answer has been sent. For each call that
// the server accepts, gRPC may keep kKeptPerCall ended calls. In all, gRPC may always keep as many
// as kFullConnections connections can have open.
constexpr uint64_t kKeptPerCall = 4;
constexpr uint64_t kFullConnections = 16;
// The number of bytes that gRPC reads ahead on a stream before the server asks for a message. gRPC
// must not raise this number on fast networks, because thousands of unread streams would then hold
// thousands of megabytes. A message that is being read is always received as a whole.
// FrameLimits::unread depends on this number.
constexpr int kBytesAhead = 16 << 10;
// During a stop, connections whose clients do not read are cut after this time.
constexpr Duration kCutAfter = Duration::Seconds(3);

int Millis(Duration duration) { return static_cast<int>(duration.micros() / 1000); }

// Sends pings to detect peers that have vanished; an interval of 0 = no pings.
void SetKeepalive(const ServerConfig& config, grpc::ServerBuilder* builder) {
  if (config.keepalive_interval > Duration()) {
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                                std::max(1, Millis(config.keepalive_interval)));
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                                std::max(1, Millis(config.keepalive_timeout)));
    // Pings continue even if nothing else is sent.
    builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  // Clients may ping too, even without an open call.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              Millis(kMinPingInterval));
}

// Asks clients to close idle and old connections; open calls continue. gRPC varies the maximum age
// by up to a tenth, so that connections do not all end at once.
void SetAges(const ServerConfig& config, grpc::ServerBuilder* builder) {
  const auto set = [builder](const char* argument, Duration duration) {
    if (duration > Duration()) builder->AddChannelArgument(argument, std::max(1, Millis(duration)));
  };
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, config.max_connection_idle);
  set(GRPC_ARG_MAX_CONNECTION_AGE_MS, config.max_connection_age);
  set(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, config.connection_grace);
}

size_t PartialBytes(const ServerConfig& config) {
  return std::max(static_cast<size_t>(config.max_unacked_bytes),
                  kPartialMessages * static_cast<size_t>(config.max_message_bytes));
}

// The bytes that gRPC may hold for all connections: unacknowledged messages, unfinished messages,
// and the overhead of connections and calls. At the limit gRPC reads less and ends streams.
size_t QuotaBytes(const ServerConfig& config, size_t connections, size_t calls) {
  const auto unacked = static_cast<size_t>(config.max_unacked_bytes);
  return unacked + PartialBytes(config) + kBytesPerConnection * connections + kBytesPerCall * calls;
}

FrameLimits FrameLimitsOf(const ServerConfig& config) {
  FrameLimits limits = FrameLimitsFor(config.max_metadata_bytes, config.max_streams_per_connection);
  limits.mark = MarkOfKey();
  limits.key = OwnKey();
  return limits;
}

}  // namespace

class GrpcPort::CallBook final : public grpc::ContextAllocator {
 public:
  explicit CallBook(WireTurns& turns) : turns_(turns) {}

  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    Call call;
    call.context = std::make_unique<grpc::GenericCallbackServerContext>();
    call.age = turns_.Made();
    grpc::GenericCallbackServerContext* const context = call.context.get();
    const MutexLock lock(mutex_);
    call.serial = ++serial_;
    calls_[context] = std::move(call);
    return context;
  }
  // Notes the client of the call.
  void Note(const grpc::CallbackServerContext& context) FRESHET_EXCLUDES(mutex_) {
    const IpAddress network = NetworkOfPeer(context.peer());
    const MutexLock lock(mutex_);
    const auto found = calls_.find(&context);
    CHECK(found != calls_.end(), "a call of another book");
    found->second.network = network;
    if (turns_.TakeSilent(network)) return Hear(found->second);
    noted_.emplace_back(&context, found->second.serial);
  }
  // Notes that a thread has reached the first message of the call.
  void NoteTurn(const grpc::CallbackServerContext& context) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = calls_.find(&context);
    CHECK(found != calls_.end(), "a call of another book");
    Hear(found->second);
  }
  // Reports all calls that were noted before the previous Look as heard, even those without a
  // message. A call whose client sends no message does not wait for gRPC's threads, so it must not
  // stay unheard. Must be called periodically.
  void Look() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (const auto& [context, serial] : noted_before_) {
      const auto found = calls_.find(context);
      if (found != calls_.end() && found->second.serial == serial) Hear(found->second);
    }
    noted_before_ = std::exchange(noted_, {});
  }
  // Notes that gRPC is done with the call.
  void Release(grpc::CallbackServerContext* context) override {
    Call call;
    {
      const MutexLock lock(mutex_);
      const auto found = calls_.find(context);
      CHECK(found != calls_.end(), "a call of another book");
      // A call that gRPC creates and drops during shutdown was never noted, so it has no network.
      Hear(found->second);
      call = std::move(found->second);
      calls_.erase(found);
    }
    turns_.Ended(call.network);
  }
  void Release(grpc::GenericCallbackServerContext* context) override {
    Release(static_cast<grpc::CallbackServerContext*>(context));
  }

 private:
  struct Call {
    std::unique_ptr<grpc::GenericCallbackServerContext> context;
    uint64_t serial = 0;  // unique
    uint64_t age = 0;     // the age (WireTurns::Made) in which the call was created
    IpAddress network;    // set by Note
    bool heard = false;   // reported to turns_
  };

  void Hear(Call& call) FRESHET_REQUIRES(mutex_) {
    if (!std::exchange(call.heard, true)) turns_.Heard(call.network, call.age);
  }

  WireTurns& turns_;
  Mutex mutex_;
  uint64_t serial_ FRESHET_GUARDED_BY(mutex_) = 0;  // serial number of the last call
  absl::flat_hash_map<const grpc::CallbackServerContext*, Call> calls_ FRESHET_GUARDED_BY(mutex_);
  // Calls noted since the last Look, and calls noted between the last two Looks.
  using Noted = std::vector<std::pair<const grpc::CallbackServerContext*, uint64_t>>;
  Noted noted_ FRESHET_GUARDED_BY(mutex_);
  Noted noted_before_ FRESHET_GUARDED_BY(mutex_);
};

class GrpcPort::Announced final : public grpc::CallbackGenericService {
 public:
  Announced(grpc::CallbackGenericService& calls, CallBook& book) : calls_(calls), book_(book) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    book_.Note(*call);
    grpc::ServerGenericBidiReactor* const reactor = calls_.CreateReactor(call);
    if (auto* const turn = dynamic_cast<CallTurn*>(reactor)) {
      turn->AwaitTurn([this, call] { book_.NoteTurn(*call); });
    } else {
      book_.NoteTurn(*call);
    }
    return reactor;
  }
  void Look() { book_.Look(); }

 private:
  grpc::CallbackGenericService& calls_;
  CallBook& book_;
};

GrpcPort::GrpcPort(const ServerConfig& config, size_t connections, Door& door, Clock& clock)
    : config_(config),
      door_(door),
      frame_limits_(FrameLimitsOf(config)),
      wire_turns_(std::make_shared<WireTurns>(WakeSocket)),
      connections_(connections, static_cast<size_t>(config.max_connections_per_client), clock,
                   door.tls() != nullptr ? Speech::kTls : Speech::kHttp2) {
  Resize(connections, static_cast<size_t>(config.max_streams));
}

GrpcPort::~GrpcPort() { Stop(); }

void GrpcPort::Allow(size_t calls) {
  Resize(connections_.stats().open, calls);
  if (server_ != nullptr) calls_->Look();
  wire_turns_->Look();
}

void GrpcPort::Resize(size_t connections, size_t calls) {
  quota_.Resize(QuotaBytes(config_, connections, calls));
  const auto streams = static_cast<uint64_t>(config_.max_streams);
  const auto per_connection = static_cast<uint64_t>(config_.max_streams_per_connection);
  const uint64_t kept = std::max(kKeptPerCall * streams, kFullConnections * per_connection);
  wire_shares_->SetMost({.calls = kept, .bytes = PartialBytes(config_)});
  wire_turns_->SetMost(kept);
}

StatusOr<int> GrpcPort::Start(grpc::CallbackGenericService& calls) {
  CHECK(server_ == nullptr, "started already");
  const StatusOr<int> port = connections_.Listen(config_.listen);
  RETURN_IF_ERROR(WithKey("listen", port.status()));
  grpc::ServerBuilder builder;
  using Experimental = grpc::ServerBuilder::experimental_type;
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      Experimental::ExternalConnectionType::FROM_FD, MakeGrpcCredentials(door_));
  builder.SetResourceQuota(quota_);
  builder.SetMaxReceiveMessageSize(config_.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, config_.max_metadata_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, config_.max_streams_per_connection);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kBytesAhead);
  // Each piece of a message keeps the block into which it was read. MessageFrames relies on this
  // block size.
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE,
                             static_cast<int>(MessageFrames::kBlockBytes));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Millis(kHandshake));
  // The server itself decompresses messages when it reads them, within limits
  // (server/api/inflate.h).
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  SetKeepalive(config_, &builder);
  SetAges(config_, &builder);
  auto book = std::make_unique<CallBook>(*wire_turns_);
  calls_ = std::make_unique<Announced>(calls, *book);
  builder.SetContextAllocator(std::move(book));
  builder.RegisterCallbackGenericService(calls_.get());
  if (!ReadsAreWatched()) {
    Logger(LogModule::kPorts)
        .error(
            "limits on what clients send are not enforced: this build of the gRPC library bypasses "
            "the read functions of freshetd");
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return MakeStatus(absl::StatusCode::kUnavailable, "listen: gRPC cannot serve at {}",
                      config_.listen);
  }
  connections_.Start([this](int descriptor) { HandOver(descriptor); }, ForgetSocket);
  return port;
}

void GrpcPort::Stop() {
  // gRPC would leak connections that are handed over after a shutdown.
  connections_.Stop();
  if (server_ == nullptr || std::exchange(stopped_, true)) return;
  // gRPC waits forever for a connection to accept its bytes, including pings.
  Ticker cutter(kCutAfter, [this] {
    connections_.CutAll();
    wire_turns_->End();
  });
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  server_->Wait();
  cutter.Stop();
}

void GrpcPort::HandOver(int descriptor) {
  const auto hand_over = [this, descriptor] {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    acceptor_->HandleNewConnection(&connection);
  };
  const WireBooks books = {.shares = wire_shares_, .turns = wire_turns_};
  if (door_.tls() != nullptr) {
    if (WatchTls(descriptor, frame_limits_, books, hand_over)) return;
  } else if (WatchSocket(descriptor, frame_limits_, books)) {
    return hand_over();
  }
  close(descriptor);
}

}  // namespace freshet
