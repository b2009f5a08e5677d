#include "server/forward/forwarded_call.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "grpc/grpc.h"
#include "grpcpp/generic/generic_stub.h"
#include "server/api/caller.h"
#include "server/auth/on_behalf.h"

namespace freshet {
namespace {

constexpr std::string_view kAuthorization = "authorization";

std::string_view TextOf(const grpc::string_ref& text) { return {text.data(), text.size()}; }

// Returns true if gRPC sends this metadata itself on each connection, so that it must not be
// forwarded.
bool IsOfConnection(std::string_view name) {
  return name.starts_with("grpc-") || name.starts_with(':') || name == "user-agent" ||
         name == "content-type" || name == "accept-encoding" || name == "te" || name == "host";
}

// Returns true if this metadata of the client is forwarded unchanged.
bool IsOfClient(std::string_view name) {
  return !IsOfConnection(name) && !IsOnBehalf(name) && name != kAuthorization;
}

// Returns true if gRPC can send this metadata. gRPC accepts some metadata from clients that would
// abort the process when sent.
bool CanBeSent(std::string_view name, std::string_view value) {
  if (name.empty()) return false;
  const auto slice = [](std::string_view text) {
    return grpc_slice_from_static_buffer(text.data(), text.size());
  };
  return grpc_header_key_is_legal(slice(name)) != 0 &&
         (grpc_is_binary_header(slice(name)) != 0 ||
          grpc_header_nonbin_value_is_legal(slice(value)) != 0);
}

// Copies metadata from one side to the other, if `goes_on` accepts its name.
template <typename Metadata, typename GoesOn, typename Add>
void PassOn(const Metadata& metadata, const GoesOn& goes_on, const Add& add) {
  for (const auto& [name, value] : metadata) {
    if (!goes_on(TextOf(name)) || !CanBeSent(TextOf(name), TextOf(value))) continue;
    add(std::string(TextOf(name)), std::string(TextOf(value)));
  }
}

// Copies the bytes without decompressing them. The serving server does that if necessary.
grpc::ByteBuffer Plain(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  (void)bytes.Dump(&slices);
  return {slices.data(), slices.size()};
}

// Finds the method; nullptr = not known here, but the serving server may know it.
const google::protobuf::MethodDescriptor* MethodOf(std::string_view path) {
  std::string name(path.substr(path.starts_with('/') ? 1 : 0));
  std::replace(name.begin(), name.end(), '/', '.');
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
}

// A call is never ended because of a message of up to this size, because gRPC buffers that many
// bytes of a stream anyway.
constexpr size_t kLittle = 64 << 10;
// A dropped call whose client does not read its status is cut off after this time.
constexpr Duration kListenPatience = Duration::Seconds(2);

grpc::Status TooManyMessages() {
  return {
      grpc::StatusCode::RESOURCE_EXHAUSTED,
      "too many messages of this client wait to be forwarded: send less at a time, or try again "
      "later"};
}
grpc::Status TooManyAnswers() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          "too many answers for this client wait to be read: read them, or ask for less at a time"};
}
grpc::Status TooSlow() {
  return {
      grpc::StatusCode::RESOURCE_EXHAUSTED,
      "a message of this call was not taken in time, and others need its room: try again later"};
}

}  // namespace

ForwardedCall::ForwardedCall(ForwardedCalls& calls, StreamSet& streams,
                             const Authoriser& authoriser, const ForwardPatience& patience,
                             grpc::GenericCallbackServerContext& context)
    : calls_(calls),
      streams_(streams),
      context_(context),
      peer_(PeerNamed(context.peer())),
      server_patience_(patience.with_server),
      upstream_(*this),
      with_client_(patience.with_client) {
  if (const auto* const method = MethodOf(context.method()); method != nullptr) {
    goes_on_ = method->client_streaming();
    kind_ = goes_on_ || method->server_streaming() ? CallKind::kStream : CallKind::kUnary;
  }
  const Credentials credentials = CredentialsOf(context);
  client_ = authoriser.ClientOf(credentials);
  admin_ = authoriser.enabled() && authoriser.IsAdmin(credentials);
  stranger_ = authoriser.IsStranger(credentials);
}

bool ForwardedCall::on_behalf() const {
  for (const auto& [name, value] : context_.client_metadata()) {
    if (IsOnBehalf(TextOf(name))) return true;
  }
  return false;
}

size_t ForwardedCall::metadata_bytes() const {
  // Allowance for metadata that gRPC adds, such as the host and its version.
  constexpr size_t kOfGrpc = 512;
  constexpr size_t kKeyBytes = 64;
  size_t bytes = kOfGrpc + context_.method().size();
  const auto add = [&bytes](const std::string& name, const std::string& value) {
    // gRPC counts 32 bytes more for each entry, and sends binary values as Base64.
    const bool binary = name.ends_with("-bin");
    bytes += name.size() + (binary ? (value.size() + 2) / 3 * 4 : value.size()) + 32;
  };
  PassOn(context_.client_metadata(), IsOfClient, add);
  const std::string key(kKeyBytes, ' ');
  for (const auto& [name, value] : OnBehalfOf(ShownBy(context_), key)) {
    add(std::string(name), value);
  }
  return bytes;
}

void ForwardedCall::AddMetadata(const std::string& key) {
  PassOn(context_.client_metadata(), IsOfClient,
         [this](const std::string& name, const std::string& value) {
           upstream_context_.AddMetadata(name, value);
         });
  for (const auto& [name, value] : OnBehalfOf(ShownBy(context_), key)) {
    upstream_context_.AddMetadata(name, value);
  }
}

void ForwardedCall::Connect(std::shared_ptr<grpc::Channel> channel, const std::string& key) {
  channel_ = std::move(channel);
  AddMetadata(key);
  upstream_context_.set_deadline(context_.deadline());
  upstream_context_.set_wait_for_ready(true);
  grpc::GenericStub(channel_).PrepareBidiStreamingCall(&upstream_context_, context_.method(), {},
                                                       &upstream_);
  // The first hold lasts until the server's last message. The second one lasts for this function,
  // because the client may already have cancelled the call.
  upstream_.AddMultipleHolds(2);
  upstream_.StartCall();
  TellServer();
  upstream_.RemoveHold();
}

void ForwardedCall::Drop(grpc::Status why) {
  {
    const MutexLock lock(mutex_);
    if (!dropped_) {
      dropped_ = std::move(why);
      dropped_at_ = Patience::Clock::now();
    }
  }
  upstream_context_.TryCancel();
  StartReadFromServer();
}

// gRPC keeps the call alive only while an operation is under way, and TryCancel needs the call. So
// the result of the write is held back until TryCancel has returned.
void ForwardedCall::Cut() {
  {
    const MutexLock lock(mutex_);
    if (!writing_ || cutting_) return;
    cutting_ = true;
  }
  context_.TryCancel();
  std::optional<bool> written;
  {
    const MutexLock lock(mutex_);
    cutting_ = false;
    written = std::exchange(written_, std::nullopt);
  }
  if (written) OnWritten(*written);
}

Peer ForwardedCall::Look(Patience::Clock::time_point now, const Crowding& crowding) {
  bool server_slow = false;
  bool client_slow = false;
  bool unheard = false;
  {
    const MutexLock lock(mutex_);
    if (writing_ && with_client_.Stuck(now)) return peer_;
    if (!dropped_) {
      server_slow = with_server_ && message_ && message_->bytes > kLittle &&
                    crowding.messages > 0 && with_server_->Until(crowding.messages) <= now;
      client_slow = writing_ && crowding.answers > 0 && with_client_.Until(crowding.answers) <= now;
    }
    unheard = dropped_ && dropped_at_ + kListenPatience.chrono() <= now;
    if (writing_ && (client_slow || unheard)) with_client_.Cut(now);
  }
  if (server_slow || client_slow) {
    calls_.OnOutdone();
    Drop(TooSlow());
  }
  if (client_slow || unheard) Cut();
  return {};
}

void ForwardedCall::LetGo(std::optional<Kept> ForwardedCall::*kept) {
  std::optional<Kept> gone;
  {
    const MutexLock lock(mutex_);
    gone = std::exchange(this->*kept, std::nullopt);
  }
  if (gone) ResumeAll(streams_.Drop(*this, *gone));
}

void ForwardedCall::Resume() {
  bool client = false;
  bool server = false;
  {
    const MutexLock lock(mutex_);
    if (upstream_over_) return;
    client = awaits_client_;
    server = awaits_server_;
  }
  if (client && streams_.HasRoom(shared_from_this(), 1, 1)) StartReadFromClient();
  if (server && streams_.HasRoom(shared_from_this(), 0, 1)) StartReadFromServer();
}

// --- From the client to the server

void ForwardedCall::ReadFromClient() {
  {
    const MutexLock lock(mutex_);
    awaits_client_ = true;
  }
  if (streams_.HasRoom(shared_from_this(), 1, 1)) StartReadFromClient();
}

void ForwardedCall::StartReadFromClient() {
  {
    const MutexLock lock(mutex_);
    if (!std::exchange(awaits_client_, false)) return;
  }
  if (!HoldUpstream()) return;
  StartRead(&from_client_);
  upstream_.RemoveHold();
}

grpc::Status ForwardedCall::KeepMessage() {
  const size_t bytes = to_server_.Length();
  if (bytes == 0) return grpc::Status::OK;
  std::optional<Kept> kept = streams_.Keep(*this, /*answers=*/false, bytes);
  if (!kept) return TooManyMessages();
  const MutexLock lock(mutex_);
  message_ = kept;
  return grpc::Status::OK;
}

void ForwardedCall::OnReadDone(bool ok) {
  NoteTurn();
  const bool first = !std::exchange(read_, true);
  // If the client has cancelled the call, a failed read is not the end of its messages.
  const bool gone = !ok && context_.IsCancelled();
  if (first && (gone || spoken_.exchange(true))) return;
  if (!first && !HoldUpstream()) return;
  ended_ = !ok;
  if (ok) to_server_ = Plain(from_client_);
  from_client_.Clear();
  if (first) return calls_.OnSpoken(shared_from_this());
  grpc::Status room = KeepMessage();
  if (gone) {
    upstream_context_.TryCancel();
  } else if (room.ok()) {
    TellServer();
  } else {
    to_server_.Clear();
    Drop(std::move(room));
  }
  upstream_.RemoveHold();
}

void ForwardedCall::TellServer() {
  if (ended_) return upstream_.StartWritesDone();
  {
    const MutexLock lock(mutex_);
    // The size is given as 0, because a message is quickly sent once the server reads it.
    with_server_.emplace(server_patience_);
    with_server_->Begin(0, Patience::Clock::now());
  }
  if (goes_on_) return upstream_.StartWrite(&to_server_);
  upstream_.StartWriteLast(&to_server_, grpc::WriteOptions());
}

void ForwardedCall::OnToldServer(bool ok) {
  to_server_.Clear();
  {
    const MutexLock lock(mutex_);
    with_server_ = std::nullopt;
  }
  LetGo(&ForwardedCall::message_);
  if (ok && goes_on_) ReadFromClient();
}

void ForwardedCall::OnCancel() {
  upstream_context_.TryCancel();
  StartReadFromServer();
  if (!spoken_.exchange(true)) return Finish(grpc::Status::CANCELLED);
  calls_.OnClientGone(shared_from_this());
}

// --- From the server to the client

void ForwardedCall::OnServerBegan(bool ok) {
  if (!ok) return EndUpstream();
  PassOn(
      upstream_context_.GetServerInitialMetadata(),
      [](std::string_view name) { return !IsOfConnection(name); },
      [this](const std::string& name, const std::string& value) {
        context_.AddInitialMetadata(name, value);
      });
  StartSendInitialMetadata();
  ReadFromServer();
}

void ForwardedCall::ReadFromServer() {
  {
    const MutexLock lock(mutex_);
    awaits_server_ = true;
    // For a dropped or cancelled call, only the end follows, which needs no room.
    if (!dropped_ && !context_.IsCancelled() && !streams_.HasRoom(shared_from_this(), 0, 1)) return;
  }
  StartReadFromServer();
}

void ForwardedCall::StartReadFromServer() {
  {
    const MutexLock lock(mutex_);
    if (!std::exchange(awaits_server_, false)) return;
  }
  upstream_.StartRead(&from_server_);
}

void ForwardedCall::OnServerSaid(bool ok) {
  if (!ok) return EndUpstream();
  const size_t bytes = from_server_.Length();
  std::optional<Kept> kept = streams_.Keep(*this, /*answers=*/true, bytes);
  if (!kept) {
    from_server_.Clear();
    calls_.OnOutdone();
    Drop(TooManyAnswers());
    return EndUpstream();
  }
  {
    const MutexLock lock(mutex_);
    answer_ = kept;
    with_client_.Begin(bytes, Patience::Clock::now());
    writing_ = true;
  }
  StartWrite(&from_server_);
}

void ForwardedCall::OnWriteDone(bool ok) {
  {
    const MutexLock lock(mutex_);
    writing_ = false;
    with_client_.End(Patience::Clock::now());
    if (cutting_) {
      written_ = ok;
      return;
    }
  }
  OnWritten(ok);
}

void ForwardedCall::OnWritten(bool ok) {
  from_server_.Clear();
  LetGo(&ForwardedCall::answer_);
  if (ok) return ReadFromServer();
  upstream_context_.TryCancel();
  EndUpstream();
}

bool ForwardedCall::HoldUpstream() {
  const MutexLock lock(mutex_);
  if (upstream_over_) return false;
  upstream_.AddHold();
  return true;
}

void ForwardedCall::EndUpstream() {
  {
    const MutexLock lock(mutex_);
    upstream_over_ = true;
  }
  upstream_.RemoveHold();
}

void ForwardedCall::OnServerDone(const grpc::Status& status) {
  std::optional<grpc::Status> dropped;
  {
    const MutexLock lock(mutex_);
    dropped = dropped_;
  }
  if (dropped) return Finish(*dropped);
  // The server decides when the client may retry, so its pushback is forwarded.
  PassOn(
      upstream_context_.GetServerTrailingMetadata(),
      [](std::string_view name) {
        return !IsOfConnection(name) || name == "grpc-retry-pushback-ms";
      },
      [this](const std::string& name, const std::string& value) {
        context_.AddTrailingMetadata(name, value);
      });
  Finish(status);
}

void ForwardedCall::OnDone() {
  LetGo(&ForwardedCall::message_);
  LetGo(&ForwardedCall::answer_);
  calls_.OnOver(self_);
  // The object is destroyed here, unless another thread still holds it.
  const std::shared_ptr<ForwardedCall> self = std::move(self_);
}

}  // namespace freshet
