// rate, policy, host, politeness, pause, resume, epoch, checkpoint and compact: change how a server
// works.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/commands.h"
#include "tools/cli/host_text.h"
#include "tools/cli/json.h"
#include "tools/cli/parse.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

// Connects and makes one call. Prints the response as JSON, or as the text that `show` returns. If
// the call can take minutes, `patience` is the text to show while it runs.
template <typename Request, typename Response, typename Show>
ExitCode Ask(Session& session,
             grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&, Response*),
             const Request& request, Show show, std::string_view patience = {}) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::AdminService::NewStub(session.channel());
  Response response;
  const grpc::Status status =
      patience.empty() ? Call(session, method, *stub, request, &response)
                       : CallPatiently(session, patience, method, *stub, request, &response);
  if (!status.ok()) return session.Fail(status);
  session.out() << (session.json() ? ToJsonLine(response) : show(response)) << '\n';
  return kAccepted;
}

ExitCode Rate(Session& session, const std::string& rate) {
  if (rate.empty()) {
    return Ask(session, &Admin::GetCrawlRate, v1::GetCrawlRateRequest(),
               [](const v1::GetCrawlRateResponse& r) {
                 return fmt::format("{} crawls per second", ShowNumber(r.crawl_rate_per_second()));
               });
  }
  const absl::StatusOr<double> value = ParseNonNegative(rate);
  if (!value.ok()) return session.Fail(Named("RATE", value.status()));
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(*value);
  return Ask(session, &Admin::SetCrawlRate, request, [](const v1::SetCrawlRateResponse& r) {
    return fmt::format("{} crawls per second, was {}", ShowNumber(r.crawl_rate_per_second()),
                       ShowNumber(r.previous_crawl_rate_per_second()));
  });
}

ExitCode Policy(Session& session, const std::string& policy) {
  if (policy.empty()) {
    return Ask(session, &Admin::GetPolicy, v1::GetPolicyRequest(),
               [](const v1::GetPolicyResponse& r) {
                 std::string text = ShowText(r.policy());
                 if (!r.pending_policy().empty()) {
                   text += ", changing to " + ShowText(r.pending_policy());
                 }
                 text += "\navailable:";
                 for (const std::string& name : r.available_policies()) text += " " + name;
                 return text;
               });
  }
  v1::SetPolicyRequest request;
  request.set_policy(policy);
  return Ask(
      session, &Admin::SetPolicy, request,
      [](const v1::SetPolicyResponse& r) {
        return fmt::format("{}, was {}", ShowText(r.policy()), ShowText(r.previous_policy()));
      },
      "changing the policy");
}

// The settings for one host, or for all hosts without settings of their own.
struct PolitenessOptions {
  std::string min_delay;
  std::string max_in_flight;
  std::string min_page_interval;
  bool reset = false;

  [[nodiscard]] bool Changes() const {
    return reset || !(min_delay + max_in_flight + min_page_interval).empty();
  }
  void AddTo(CLI::App* command) {
    command->add_option("--min-delay", min_delay, "Shortest time between two crawls of a host");
    command->add_option("--max-in-flight", max_in_flight,
                        "Maximum number of crawls of a host at the same time; 0 for no limit");
    command->add_option("--min-page-interval", min_page_interval,
                        "Shortest time between two crawls of a page");
    command->add_flag("--reset", reset, "Go back to the server's defaults");
  }
};

template <typename Request>
absl::Status FillPoliteness(const PolitenessOptions& options, Request* request) {
  request->set_reset(options.reset);
  absl::Status status;
  if (!options.min_delay.empty()) {
    status = Named("--min-delay", Assign(ParseDuration(options.min_delay), [request](auto& x) {
                     *request->mutable_min_delay() = x;
                   }));
  }
  if (status.ok() && !options.max_in_flight.empty()) {
    status = Named(
        "--max-in-flight", Assign(ParseCount(options.max_in_flight), [request](auto x) {
          request->set_max_in_flight(static_cast<uint32_t>(std::min<uint64_t>(x, UINT32_MAX)));
        }));
  }
  if (status.ok() && !options.min_page_interval.empty()) {
    status = Named("--min-page-interval",
                   Assign(ParseDuration(options.min_page_interval),
                          [request](auto& x) { *request->mutable_min_page_interval() = x; }));
  }
  return status;
}

struct HostOptions {
  std::string host;
  PolitenessOptions politeness;
  std::string max_crawls;
  std::string hours;
  std::string block_until;
  bool unblock = false;

  [[nodiscard]] bool Changes() const {
    return unblock || politeness.Changes() || !(max_crawls + hours + block_until).empty();
  }
};

// The server would lift the block if the time were in the past, but users of this option never
// intend that.
absl::Status FillBlock(const std::string& text, v1::SetHostPolitenessRequest* request) {
  const absl::StatusOr<google::protobuf::Timestamp> until = ParseTime(text);
  if (!until.ok()) return until.status();
  if (until->seconds() < absl::ToUnixSeconds(absl::Now())) {
    return absl::InvalidArgumentError(
        fmt::format("{} is in the past; --unblock lifts a block", ShowTime(*until)));
  }
  *request->mutable_blocked_until() = *until;
  return absl::OkStatus();
}

absl::Status FillHost(const HostOptions& options, v1::SetHostPolitenessRequest* request) {
  request->set_host(options.host);
  if (options.unblock) request->mutable_blocked_until()->set_seconds(0);
  absl::Status status = FillPoliteness(options.politeness, request);
  if (status.ok() && !options.max_crawls.empty()) {
    status = Named("--max-crawls", Assign(ParseCrawlCap(options.max_crawls), [request](auto& x) {
                     *request->mutable_max_crawls() = x;
                   }));
  }
  if (!options.hours.empty()) request->set_hours(options.hours);
  if (status.ok() && !options.block_until.empty()) {
    status = Named("--block-until", FillBlock(options.block_until, request));
  }
  return status;
}

ExitCode Host(Session& session, const HostOptions& options) {
  if (!options.Changes()) {
    v1::GetHostRequest request;
    request.set_host(options.host);
    return Ask(session, &Admin::GetHost, request,
               [](const v1::GetHostResponse& r) { return ShowHost(r.host_state()); });
  }
  v1::SetHostPolitenessRequest request;
  const absl::Status status = FillHost(options, &request);
  if (!status.ok()) return session.Fail(status);
  return Ask(session, &Admin::SetHostPoliteness, request,
             [](const v1::SetHostPolitenessResponse& r) { return ShowHost(r.host_state()); });
}

void AddHost(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("host", "Show or change how often and when a host may be crawled");
  const auto options = std::make_shared<HostOptions>();
  command->add_option("HOST", options->host, "Name of the host, without a path")->required();
  options->politeness.AddTo(command);
  command->add_option(
      "--max-crawls", options->max_crawls,
      "Maximum number of crawls in a span of time, such as 1000/1d; 0 for no maximum");
  command->add_option("--hours", options->hours,
                      "Hours of the day in which the host may be crawled, such as 22:00-06:00 "
                      "(UTC), 22:00-06:00+02:00, or always");
  auto* block =
      command->add_option("--block-until", options->block_until, "No crawl before this time");
  command->add_flag("--unblock", options->unblock, "Remove a block")->excludes(block);
  command->callback([options, &action] {
    action = [options](Session& session) { return Host(session, *options); };
  });
}

std::string ShowDefaults(const v1::PolitenessDefaults& defaults) {
  return fmt::format(
      "{} between crawls of a host, {} between crawls of a page, {} in flight for each host",
      ShowDuration(defaults.min_delay()), ShowDuration(defaults.min_page_interval()),
      defaults.max_in_flight() == 0 ? std::string("any number")
                                    : fmt::format("at most {}", defaults.max_in_flight()));
}

ExitCode Politeness(Session& session, const PolitenessOptions& options) {
  if (!options.Changes()) {
    return Ask(session, &Admin::GetPolitenessDefaults, v1::GetPolitenessDefaultsRequest(),
               [](const v1::GetPolitenessDefaultsResponse& r) {
                 const std::string now = ShowDefaults(r.defaults());
                 const std::string configured = ShowDefaults(r.configured());
                 return now == configured ? now : now + "\nconfigured: " + configured;
               });
  }
  v1::SetPolitenessDefaultsRequest request;
  const absl::Status status = FillPoliteness(options, &request);
  if (!status.ok()) return session.Fail(status);
  return Ask(
      session, &Admin::SetPolitenessDefaults, request,
      [](const v1::SetPolitenessDefaultsResponse& r) { return ShowDefaults(r.defaults()); },
      "having all pages follow");
}

void AddPoliteness(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "politeness", "Show or change the default politeness: how often any host may be crawled");
  const auto options = std::make_shared<PolitenessOptions>();
  options->AddTo(command);
  command->callback([options, &action] {
    action = [options](Session& session) { return Politeness(session, *options); };
  });
}

ExitCode Pause(Session& session, const std::string& reason) {
  v1::PauseRequest request;
  request.set_reason(reason);
  return Ask(session, &Admin::Pause, request, [](const v1::PauseResponse& r) {
    return std::string(r.was_paused() ? "was paused already" : "paused");
  });
}

ExitCode Resume(Session& session) {
  return Ask(session, &Admin::Resume, v1::ResumeRequest(), [](const v1::ResumeResponse& r) {
    return std::string(r.was_paused() ? "resumed" : "was not paused");
  });
}

ExitCode Epoch(Session& session) {
  return Ask(
      session, &Admin::RunEpoch, v1::RunEpochRequest(),
      [](const v1::RunEpochResponse& r) {
        return fmt::format("epoch {}: {} in {}", r.epoch(), ShowCounted(r.pages(), "page"),
                           ShowDuration(r.duration()));
      },
      "running an epoch");
}

ExitCode Checkpoint(Session& session, const std::string& name) {
  v1::CreateCheckpointRequest request;
  request.set_name(name);
  return Ask(
      session, &Admin::CreateCheckpoint, request,
      [](const v1::CreateCheckpointResponse& r) {
        return fmt::format("{}: {} in {}", ShowText(r.path()), ShowBytes(r.bytes()),
                           ShowDuration(r.duration()));
      },
      "making a checkpoint");
}

ExitCode Compact(Session& session) {
  return Ask(
      session, &Admin::CompactStore, v1::CompactStoreRequest(),
      [](const v1::CompactStoreResponse& r) {
        return fmt::format("{} before, {} after, in {}", ShowBytes(r.bytes_before()),
                           ShowBytes(r.bytes_after()), ShowDuration(r.duration()));
      },
      "compacting the store");
}

// Adds a command with at most one argument.
CLI::Option* AddSimple(CLI::App& app, Action& action, const char* name, const char* help,
                       const char* argument, const char* argument_help,
                       ExitCode (*run)(Session&, const std::string&)) {
  auto* command = app.add_subcommand(name, help);
  const auto value = std::make_shared<std::string>();
  command->callback([value, run, &action] {
    action = [value, run](Session& session) { return run(session, *value); };
  });
  return command->add_option(argument, *value, argument_help);
}

void AddPlain(CLI::App& app, Action& action, const char* name, const char* help,
              ExitCode (*run)(Session&)) {
  app.add_subcommand(name, help)->callback([run, &action] { action = run; });
}

}  // namespace

void AddOperatorCommands(CLI::App& app, Action& action) {
  AddSimple(app, action, "rate", "Show or set the crawl rate", "RATE",
            "Crawl rate to set, in crawls per second", Rate);
  AddSimple(app, action, "policy",
            "Show or set the crawl policy, the rule that picks the next page", "POLICY",
            "Name of the policy to set", Policy);
  AddHost(app, action);
  AddPoliteness(app, action);
  AddSimple(app, action, "pause", "Stop handing out pages", "--reason",
            "Reason to show to other operators", Pause);
  AddPlain(app, action, "resume", "Hand out pages again", Resume);
  AddPlain(app, action, "epoch", "Compute new estimates (change rates) of all pages now", Epoch);
  AddSimple(app, action, "checkpoint", "Make a consistent copy of the store while the server runs",
            "NAME", "Name of the directory to write the copy of the store to", Checkpoint)
      ->required();
  AddPlain(app, action, "compact", "Free the disk space of replaced and removed records", Compact);
}

}  // namespace freshet::cli
