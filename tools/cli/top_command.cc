// top: shows the state of a server, and redraws it every second.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/sparkline.h"
#include "tools/cli/top_frame.h"

namespace freshet::cli {
namespace {

constexpr uint32_t kMostCrawls = 10;
constexpr uint32_t kMostTrust = 20;
// Trust is read once in this many samples, because it changes only with each epoch.
constexpr int kSamplesPerTrust = 10;
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

// The original state of the terminal, which a signal handler restores.
termios g_terminal;  // set before the handler is installed, then constant

// Calls only functions that a signal handler may call.
void LeaveScreen(int signal_number) {
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kLeave.data(), kLeave.size());
  tcsetattr(STDIN_FILENO, TCSANOW, &g_terminal);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

// Takes over the whole terminal as long as it exists. Keys are read one by one and not echoed.
// Signals that end the program restore the terminal, too. Owner thread only; only one may exist at
// a time.
class Screen {
 public:
  explicit Screen(std::ostream& out) : out_(out) {
    tcgetattr(STDIN_FILENO, &g_terminal);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, LeaveScreen);
    termios keys = g_terminal;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    out_ << kEnter << std::flush;
  }
  ~Screen() {
    out_ << kLeave << std::flush;
    tcsetattr(STDIN_FILENO, TCSANOW, &g_terminal);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] static ScreenSize Size() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
    return {size.ws_col, size.ws_row};
  }

  void Draw(const std::vector<std::string>& lines) {
    std::string text = "\x1b[H";
    for (size_t i = 0; i < lines.size(); ++i) {
      text += lines[i] + "\x1b[K" + (i + 1 < lines.size() ? "\r\n" : "");
    }
    out_ << text << "\x1b[J" << std::flush;
  }

  // Waits up to this time. Returns true if the user pressed the key to quit.
  [[nodiscard]] static bool Quit(double seconds) {
    pollfd key{STDIN_FILENO, POLLIN, 0};
    if (poll(&key, 1, static_cast<int>(seconds * 1e3)) <= 0) return false;
    char pressed = 'q';  // unchanged if standard input is closed
    if (read(STDIN_FILENO, &pressed, 1) < 1) return true;
    return pressed == 'q' || pressed == 'Q';
  }

 private:
  std::ostream& out_;
};

// Asks a server for samples. Owner thread only.
class Sampler {
 public:
  explicit Sampler(Session& session)
      : session_(session), stub_(v1::AdminService::NewStub(session.channel())) {}

  // Fails only if there are no statistics. Leaves out the other parts if this client has no right
  // to read them.
  grpc::Status Take(TopSample* sample) {
    const grpc::Status status =
        Ask(&Admin::GetStatistics, v1::GetStatisticsRequest(), &sample->statistics);
    if (!status.ok()) return status;
    v1::ListSourcesResponse sources;
    if (Ask(&Admin::ListSources, v1::ListSourcesRequest(), &sources).ok()) {
      sample->sources.assign(sources.sources().begin(), sources.sources().end());
    }
    v1::ListCrawlsRequest request;
    request.set_page_size(kMostCrawls);
    v1::ListCrawlsResponse crawls;
    if (Ask(&Admin::ListCrawls, request, &crawls).ok()) {
      sample->crawls.assign(crawls.crawls().begin(), crawls.crawls().end());
    }
    if (taken_++ % kSamplesPerTrust == 0) AskForTrust();
    sample->quarantined = quarantined_;
    return status;
  }

 private:
  using Admin = v1::AdminService::Stub;

  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&, Response*),
                   const Request& request, Response* response) {
    return Call(session_, method, *stub_, request, response);
  }

  void AskForTrust() {
    v1::GetTrustReportRequest request;
    request.set_limit(kMostTrust);
    v1::GetTrustReportResponse trust;
    if (!Ask(&Admin::GetTrustReport, request, &trust).ok()) return;
    quarantined_.clear();
    for (const v1::HostTrust& host : trust.hosts()) {
      if (host.has_quarantined_since()) quarantined_.push_back(host);
    }
  }

  Session& session_;
  std::unique_ptr<Admin> stub_;
  int taken_ = 0;
  std::vector<v1::HostTrust> quarantined_;
};

std::string SampleJson(const TopSample& sample) {
  const auto list = [](const auto& messages) {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const auto& message : messages) array.push_back(ToJson(message));
    return array;
  };
  nlohmann::ordered_json object = ToJson(sample.statistics);
  object["sources"] = list(sample.sources);
  object["crawls"] = list(sample.crawls);
  object["quarantined"] = list(sample.quarantined);
  return JsonText(object);
}

// A printed frame needs two samples, because rates are measured between them.
ExitCode PrintFrame(Session& session, Sampler& sampler, double interval) {
  TopFrames frames(TerminalTakesUtf8());
  for (int i = 0; i < (session.json() ? 1 : 2); ++i) {
    if (i > 0) poll(nullptr, 0, static_cast<int>(interval * 1e3));
    TopSample sample;
    const grpc::Status status = sampler.Take(&sample);
    if (!status.ok()) return session.Fail(status);
    if (session.json()) session.out() << SampleJson(sample) << '\n';
    frames.Add(std::move(sample));
  }
  if (session.json()) return kAccepted;
  constexpr size_t kAny = std::numeric_limits<size_t>::max();
  // With only two samples, curves need little space.
  for (const std::string& line : frames.Lines({kAny / 2, kAny})) session.out() << line << '\n';
  return kAccepted;
}

ExitCode Live(Session& session, Sampler& sampler, double interval) {
  TopFrames frames(TerminalTakesUtf8());
  grpc::Status status;
  {
    Screen screen(session.out());
    while (session.out()) {
      TopSample sample;
      status = sampler.Take(&sample);
      if (!status.ok()) break;
      frames.Add(std::move(sample));
      screen.Draw(frames.Lines(Screen::Size()));
      if (Screen::Quit(interval)) break;
    }
  }
  return status.ok() ? kAccepted : session.Fail(status);
}

struct TopOptions {
  bool once = false;
  double interval = 1;
};

ExitCode Top(Session& session, const TopOptions& options) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  Sampler sampler(session);
  const bool live = session.screen() && !options.once && !session.json();
  return live ? Live(session, sampler, options.interval)
              : PrintFrame(session, sampler, options.interval);
}

}  // namespace

void AddTopCommand(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("top",
                                     "Watch crawl rates, freshness, workers, sources and the price "
                                     "(crawl value of the page picked last)");
  const auto options = std::make_shared<TopOptions>();
  command->add_flag("--once", options->once,
                    "Print one frame and end; this is the default if the output is not a terminal");
  command->add_option("--interval", options->interval, "Time between frames, in seconds")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->callback([options, &action] {
    action = [options](Session& session) { return Top(session, *options); };
  });
}

}  // namespace freshet::cli
