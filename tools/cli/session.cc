#include "tools/cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/cli/parse.h"
#include "tools/cli/probe.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

// A batch from the server can have 1,000 pages with URLs of up to 8 KiB.
constexpr int kMaxReceivedBytes = 64 << 20;
// If the server is running or about to start, a client usually connects within this many seconds.
// Over a slow network it can take longer.
constexpr double kSoon = 0.9;

std::chrono::system_clock::time_point After(double seconds) {
  return std::chrono::system_clock::now() +
         std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
}

// Returns hints for a failed handshake, since gRPC gives no reason.
const char* WhatMayBeMissing(const ClientSecurity& security) {
  if (!security.speaks_tls()) return "; if it speaks TLS, --tls or --tls-ca is missing";
  if (security.certificate.empty()) {
    return "; perhaps it does not speak TLS, its certificate is not valid for this name, or it "
           "wants "
           "--tls-certificate";
  }
  return "; perhaps it does not speak TLS, or one side does not accept the other's certificate";
}

}  // namespace

Session::Session(Settings settings, Io io) : settings_(std::move(settings)), io_(io) {}

absl::Status Session::Connect() {
  if (channel_) return absl::OkStatus();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  // Retries quickly, to find a server soon after it starts.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  auto opened = OpenChannel(settings_.server, settings_.security, arguments);
  if (!opened.ok()) return opened.status();
  channel_ = *std::move(opened);
  const auto deadline = After(settings_.connect_seconds);
  if (channel_->WaitForConnected(std::min(deadline, After(kSoon)))) return absl::OkStatus();
  const absl::Status failed = AwaitServer(deadline);
  if (!failed.ok()) channel_.reset();
  return failed;
}

// Waits for a server that might be starting, and immediately tells the user about the wait.
absl::Status Session::AwaitServer(std::chrono::system_clock::time_point deadline) const {
  const Probed probed = Probe(settings_.server);
  if (probed == Probed::kHttp && !settings_.security.speaks_tls()) {
    return absl::UnavailableError(
        fmt::format("{}: answers, but does not speak gRPC: is this the HTTP port? gRPC has a port "
                    "of its own (7071 by default)",
                    settings_.server));
  }
  const bool nobody = probed == Probed::kNobody;
  const double left =
      std::chrono::duration<double>(deadline - std::chrono::system_clock::now()).count();
  if (nobody && left > 0) {
    Note(fmt::format("{}: connection refused; trying again for {:.0f} s", settings_.server,
                     std::ceil(left)));
  }
  const Progress progress(progress_style(), fmt::format("connecting to {}", settings_.server));
  if (channel_->WaitForConnected(deadline)) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("{}: {} within {} s{}", settings_.server,
                  nobody ? "connection refused: no server listened" : "not reachable",
                  settings_.connect_seconds, nobody ? "" : WhatMayBeMissing(settings_.security)));
}

std::chrono::system_clock::time_point Session::CallDeadline() const {
  return After(settings_.call_seconds);
}

ExitCode Session::Fail(const absl::Status& status) const {
  Complain(std::string_view(status.message().data(), status.message().size()));
  return absl::IsUnavailable(status) ? kUnreachable : kBadUsage;
}

ExitCode Session::Fail(const grpc::Status& status) const {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      Complain(fmt::format("{}: {}", settings_.server, status.error_message()));
      return kUnreachable;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
      Complain(fmt::format("{}: no answer within {} s", settings_.server, settings_.call_seconds));
      return kUnreachable;
    default:
      Complain(status.error_message());
      return kRefused;
  }
}

std::optional<std::chrono::milliseconds> AskedToWait(const grpc::Status& status,
                                                     const grpc::ClientContext& context) {
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return std::nullopt;
  const auto& trailer = context.GetServerTrailingMetadata();
  const auto it = trailer.find("grpc-retry-pushback-ms");
  if (it == trailer.end()) return std::nullopt;
  const absl::StatusOr<uint64_t> wait = ParseCount({it->second.data(), it->second.size()});
  // Even if a server names no delay, the client pauses before it calls again.
  constexpr uint64_t kShortest = 10;
  constexpr uint64_t kLongest = 86'400'000;
  if (!wait.ok()) return std::nullopt;
  return std::chrono::milliseconds(std::clamp(*wait, kShortest, kLongest));
}

void Session::Complain(std::string_view text) const {
  *io_.err << "freshet: " << ShowText(text) << '\n';
}

void Session::Note(std::string_view text) const { *io_.err << text << '\n'; }

}  // namespace freshet::cli
