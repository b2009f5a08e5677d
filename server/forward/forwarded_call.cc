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

// What gRPC says itself, of each of the two connections.
bool IsOfConnection(std::string_view name) {
  return name.starts_with("grpc-") || name.starts_with(':') || name == "user-agent" ||
         name == "content-type" || name == "accept-encoding" || name == "te" || name == "host";
}

// What goes on as it came.
bool IsOfClient(std::string_view name) {
  return !IsOfConnection(name) && !IsOnBehalf(name) && name != kAuthorization;
}

// gRPC takes in what it does not send: it would end the process.
bool CanBeSent(std::string_view name, std::string_view value) {
  if (name.empty()) return false;
  const auto slice = [](std::string_view text) {
    return grpc_slice_from_static_buffer(text.data(), text.size());
  };
  return grpc_header_key_is_legal(slice(name)) != 0 &&
         (grpc_is_binary_header(slice(name)) != 0 ||
          grpc_header_nonbin_value_is_legal(slice(value)) != 0);
}

// Adds what one side has sent to what the other one is sent, as far as its name `goes_on`.
template <typename Metadata, typename GoesOn, typename Add>
void PassOn(const Metadata& metadata, const GoesOn& goes_on, const Add& add) {
  for (const auto& [name, value] : metadata) {
    if (!goes_on(TextOf(name)) || !CanBeSent(TextOf(name), TextOf(value))) continue;
    add(std::string(TextOf(name)), std::string(TextOf(value)));
  }
}

// The bytes as they are: who serves finds out itself whether they are compressed.
grpc::ByteBuffer Plain(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  (void)bytes.Dump(&slices);
  return {slices.data(), slices.size()};
}

// Whether the method of this path takes a stream of messages; one that only the server which serves
// knows may.
bool TakesStream(std::string_view path) {
  std::string name(path.substr(path.starts_with('/') ? 1 : 0));
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* const method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  return method == nullptr || method->client_streaming();
}

}  // namespace

ForwardedCall::ForwardedCall(ForwardedCalls& calls, const Authoriser& authoriser,
                             grpc::GenericCallbackServerContext& context, uint64_t number)
    : calls_(calls),
      context_(context),
      number_(number),
      goes_on_(TakesStream(context.method())),
      upstream_(*this) {
  const Credentials credentials = CredentialsOf(context);
  client_ = authoriser.ClientOf(credentials);
  admin_ = authoriser.enabled() && authoriser.IsAdmin(credentials);
}

bool ForwardedCall::on_behalf() const {
  for (const auto& [name, value] : context_.client_metadata()) {
    if (IsOnBehalf(TextOf(name))) return true;
  }
  return false;
}

size_t ForwardedCall::metadata_bytes() const {
  // What gRPC says itself: the path, the name of the host, its own version and the like.
  constexpr size_t kOfGrpc = 512;
  constexpr size_t kKeyBytes = 64;
  size_t bytes = kOfGrpc + context_.method().size();
  const auto add = [&bytes](const std::string& name, const std::string& value) {
    // Each takes 32 more, and what is binary comes as Base64.
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
  // One until the server has said its last, and one for as long as this takes: its client may be
  // gone already.
  upstream_.AddMultipleHolds(2);
  upstream_.StartCall();
  TellServer();
  upstream_.RemoveHold();
}

void ForwardedCall::Drop(grpc::Status why) {
  {
    const MutexLock lock(mutex_);
    if (!dropped_) dropped_ = std::move(why);
  }
  upstream_context_.TryCancel();
}

// --- From the client to the server

void ForwardedCall::ReadFromClient() {
  if (calls_.MayRead(shared_from_this())) StartRead(&from_client_);
}

void ForwardedCall::ReadOn() {
  if (!HoldUpstream()) return;
  StartRead(&from_client_);
  upstream_.RemoveHold();
}

void ForwardedCall::OnReadDone(bool ok) {
  const bool first = !std::exchange(spoken_, true);
  // That it has broken off is not that it has said all.
  const bool gone = !ok && context_.IsCancelled();
  if (first && gone) return;
  if (!first && !HoldUpstream()) return;
  ended_ = !ok;
  if (ok) to_server_ = Plain(from_client_);
  from_client_.Clear();
  const size_t bytes = to_server_.Length();
  if (first) return calls_.OnSpoken(shared_from_this(), bytes);
  grpc::Status room = ok ? calls_.Hold(shared_from_this(), bytes) : grpc::Status::OK;
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
  if (goes_on_) return upstream_.StartWrite(&to_server_);
  upstream_.StartWriteLast(&to_server_, grpc::WriteOptions());
}

void ForwardedCall::OnToldServer(bool ok) {
  to_server_.Clear();
  calls_.Release(shared_from_this());
  if (ok && goes_on_) ReadFromClient();
}

void ForwardedCall::OnCancel() {
  upstream_context_.TryCancel();
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
  upstream_.StartRead(&from_server_);
}

void ForwardedCall::OnServerSaid(bool ok) {
  if (!ok) return EndUpstream();
  StartWrite(&from_server_);
}

void ForwardedCall::OnWriteDone(bool ok) {
  if (ok) return upstream_.StartRead(&from_server_);
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
  // When to come again is the server's to say.
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
  calls_.OnOver(self_);
  // The last use of this object, unless somebody holds it.
  const std::shared_ptr<ForwardedCall> self = std::move(self_);
}

}  // namespace freshet
