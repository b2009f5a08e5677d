#include "server/forward/serving_peer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "server/auth/tls_files.h"
#include "server/config.h"

namespace freshet {
namespace {

constexpr std::string_view kForm = "freshet1 ";
// The least and the longest pause between two attempts to connect.
constexpr int kLeastBackoffMs = 100;
constexpr int kMostBackoffMs = 1000;
// The loss of a peer is noticed after the sum of both times.
constexpr int kPingMs = 2000;
constexpr int kPongMs = 3000;

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsFor(const ServerConfig& config,
                                                                   const Door& door) {
  const std::shared_ptr<const TlsMaterial> tls = door.tls();
  if (tls == nullptr) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  ASSIGN_OR_RETURN(options.pem_root_certs, ReadRoots(config));
  options.pem_private_key = tls->key;
  options.pem_cert_chain = tls->certificate;
  return grpc::SslCredentials(options);
}

}  // namespace

std::string AnnouncementOf(const ServingPeer& peer) {
  return fmt::format("{}{} {}", kForm, peer.address,
                     absl::BytesToHexString(absl::string_view(peer.key.data(), peer.key.size())));
}

std::optional<ServingPeer> ParseAnnouncement(std::string_view text) {
  if (!text.starts_with(kForm)) return std::nullopt;
  text.remove_prefix(kForm.size());
  const size_t space = text.find(' ');
  if (space == 0 || space == std::string_view::npos) return std::nullopt;
  const std::string_view hex = text.substr(space + 1);
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (hex.empty() || hex.size() % 2 != 0 || !std::all_of(hex.begin(), hex.end(), digit)) {
    return std::nullopt;
  }
  return ServingPeer{.address = std::string(text.substr(0, space)),
                     .key = absl::HexStringToBytes(absl::string_view(hex.data(), hex.size()))};
}

StatusOr<std::string> ReadRoots(const ServerConfig& config) {
  const std::string& path = config.cluster.tls_ca;
  if (path.empty()) return std::string();
  StatusOr<std::string> text = ReadPem("cluster.tls_ca", path);
  if (!text.ok()) return InvalidArgument("{}", std::string(text.status().message()));
  // If the text were empty, gRPC would trust the system's certificate authorities.
  if (text->empty()) return InvalidArgument("cluster.tls_ca: {} is empty", path);
  return text;
}

StatusOr<std::shared_ptr<grpc::Channel>> ConnectTo(const ServingPeer& peer,
                                                   const ServerConfig& config, const Door& door) {
  ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(config, door));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Proxies named in the environment are for other programs.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // The peer limits the size of answers, as for its direct clients.
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kLeastBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kMostBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMostBackoffMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPongMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(peer.address, credentials, arguments);
}

grpc::Status PeerConnection::Ask(const ServingPeer& peer, ShownByClient client, Duration patience,
                                 const Call& call) {
  if (peer_ != peer) {
    peer_.reset();
    StatusOr<std::shared_ptr<grpc::Channel>> channel = ConnectTo(peer, config_, door_);
    if (!channel.ok()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, std::string(channel.status().message())};
    }
    channel_ = *std::move(channel);
    peer_ = peer;
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience.chrono());
  client.sent_on = true;
  for (const auto& [name, value] : OnBehalfOf(client, peer.key)) context.AddMetadata(name, value);
  {
    const MutexLock lock(mutex_);
    if (stopped_) return {grpc::StatusCode::CANCELLED, "this server is stopping"};
    under_way_ = &context;
  }
  const grpc::Status status = call(*v1::FleetService::NewStub(channel_), &context);
  const MutexLock lock(mutex_);
  under_way_ = nullptr;
  return status;
}

void PeerConnection::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  if (under_way_ != nullptr) under_way_->TryCancel();
}

bool IsUnanswered(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace freshet
