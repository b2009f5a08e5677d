// explain: shows why a page has its place, in words, numbers and curves.
#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "freshet/v1/pages.grpc.pb.h"
#include "proto/forecast.h"
#include "tools/cli/commands.h"
#include "tools/cli/host_text.h"
#include "tools/cli/json.h"
#include "tools/cli/page_text.h"
#include "tools/cli/sparkline.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

using google::protobuf::util::TimeUtil;

constexpr int kForecastPoints = 32;

struct ExplainOptions {
  std::vector<std::string> urls;
  std::string crawl_id;
};

std::string SpanText(double seconds) {
  return ShowDuration(
      TimeUtil::NanosecondsToDuration(static_cast<int64_t>(std::clamp(seconds, 0.0, 9e9) * 1e9)));
}

// An instant, and how far away it is.
std::string InstantText(const google::protobuf::Timestamp& time,
                        const google::protobuf::Timestamp& now) {
  const double off = TimeUtil::DurationToMilliseconds(time - now) / 1e3;
  return fmt::format("{}, {}", ShowTime(time),
                     off > 0 ? "in " + SpanText(off) : SpanText(-off) + " ago");
}

// Prints the sections of one explanation. Owner thread only.
class Explainer {
 public:
  // The column at which values begin.
  static constexpr size_t kIndent = 20;

  Explainer(std::ostream& out, const v1::GetPageResponse& response)
      : out_(out),
        page_(response.page()),
        why_(response.explanation()),
        utf8_(TerminalTakesUtf8()) {}

  void Print() {
    out_ << ShowText(page_.url()) << '\n' << "  " << ShowText(why_.why()) << '\n';
    PrintBelief();
    PrintEvidence();
    PrintWait();
    PrintFuture();
    PrintHistory();
  }

 private:
  void Title(std::string_view title) { out_ << title << '\n'; }
  void Say(std::string_view name, std::string_view value) {
    out_ << fmt::format("  {:<{}}{}\n", name, kIndent - 2, value);
  }

  void PrintBelief() {
    const v1::PageEstimates& estimates = why_.estimates();
    const v1::Estimate& rate = estimates.change_rate_per_day();
    Title("estimates");
    std::string changes = fmt::format("{} a day (95%: {} to {})", ShowNumber(rate.value()),
                                      ShowNumber(rate.low()), ShowNumber(rate.high()));
    if (rate.value() > 0) changes += ", one in " + SpanText(86400 / rate.value());
    Say("changes", changes);
    Say("not signalled", ShowNumber(estimates.unsignalled_rate_per_day()) + " a day");
    Say("signals", fmt::format("{} a day, one adds {} to the staleness",
                               ShowNumber(estimates.signal_rate_per_day()),
                               ShowNumber(estimates.signal_weight())));
    if (page_.has_last_crawl_time()) {
      Say("still fresh", fmt::format("{}, staleness {}", ShowShare(why_.probability_fresh()),
                                     ShowNumber(why_.staleness())));
    } else {
      Say("still fresh", "never crawled: there is no copy yet");
    }
    Say("importance", ShowNumber(page_.importance()));
  }

  void PrintEvidence() {
    const v1::PageEstimates& estimates = why_.estimates();
    Title("evidence");
    Say("crawls", fmt::format("{}, of which {} found a change", ShowCount(page_.crawls()),
                              ShowCount(page_.changes())));
    Say("last crawl", page_.has_last_crawl_time()
                          ? InstantText(page_.last_crawl_time(), why_.as_of())
                          : "none yet");
    Say("rate rests on",
        fmt::format("{} between crawls, {}", ShowIntervals(estimates.observations()),
                    ShowEnum(v1::EstimateBasis_Name(estimates.basis()), "ESTIMATE_BASIS_")));
    for (const v1::PendingSignals& pending : page_.pending_signals()) {
      Say("signals since",
          fmt::format("{} of {}, in polls of {}", ShowCount(pending.signals()),
                      ShowText(pending.source()),
                      ShowEnum(v1::BurstClass_Name(pending.burst_class()), "BURST_CLASS_")));
    }
  }

  void PrintWait() {
    Title("what the page waits for");
    Say(ShowEnum(v1::Decision_Name(why_.decision()), "DECISION_"), WaitText());
    std::string value = ShowNumber(why_.value());
    if (why_.price() > 0) {
      value += fmt::format(" at a price of {}: {} of it", ShowNumber(why_.price()),
                           ShowShare(why_.value() / why_.price()));
    }
    Say("value", fmt::format("{} ({})", value, ShowText(why_.policy())));
    if (why_.value_share() < 0.9995) {
      Say("value share",
          ShowShare(why_.value_share()) + ": it may be gone, or can wait for others");
    }
    Say("next crawl", why_.has_next_expected_crawl_time()
                          ? InstantText(why_.next_expected_crawl_time(), why_.as_of())
                          : "none is expected");
    Say("host", ShowHost(why_.host_state(), kIndent));
  }

  [[nodiscard]] std::string WaitText() const {
    const v1::HostState& host = why_.host_state();
    switch (why_.decision()) {
      case v1::DECISION_DUE:
        return "its turn: its value has reached the price";
      case v1::DECISION_BELOW_PRICE:
        return "its value to reach the price";
      case v1::DECISION_LEASED:
        return fmt::format("worker {}, until {}", ShowText(page_.lease().worker()),
                           InstantText(page_.lease().deadline(), why_.as_of()));
      case v1::DECISION_HOST_BUSY:
        if (host.has_next_allowed_time()) {
          return "its host, until " + InstantText(host.next_allowed_time(), why_.as_of());
        }
        return fmt::format("its host, which has {} in flight",
                           ShowCounted(host.in_flight(), "crawl"));
      case v1::DECISION_TOO_EARLY:
        return why_.has_next_expected_crawl_time()
                   ? "its time, " + InstantText(why_.next_expected_crawl_time(), why_.as_of())
                   : "its time";
      case v1::DECISION_FORCED:
        return page_.recheck_pending() ? "its turn: a recheck was asked for"
                                       : "its turn: it is overdue, so its value does not count";
      case v1::DECISION_PAUSED:
        return "the end of the pause";
      case v1::DECISION_NEVER:
        return "nothing: the server does not crawl it";
      default:
        return "something that this version of the client does not know";
    }
  }

  void PrintFuture() {
    const std::vector<ForecastPoint> points = Forecast(why_, kForecastPoints);
    std::vector<double> fresh;
    std::vector<double> value;
    for (const ForecastPoint& point : points) {
      fresh.push_back(point.probability_fresh);
      value.push_back(point.value);
    }
    Title(fmt::format("in the next {}, if no signal comes", SpanText(points.back().seconds)));
    Say("fresh", fmt::format("{}  {} to {}", Sparkline(fresh, 0, 1, utf8_),
                             ShowShare(fresh.front()), ShowShare(fresh.back())));
    if (std::isnan(value.back())) return;
    const double top = std::max(value.back(), why_.price());
    Say("value", fmt::format("{}  {} to about {}", Sparkline(value, 0, top, utf8_),
                             ShowNumber(value.front()), ShowNumber(value.back())));
  }

  void PrintHistory() {
    const auto& crawls = why_.observations();
    if (crawls.empty()) return;
    std::string marks;
    std::vector<double> gaps;
    double longest = 0;
    for (const v1::Observation& crawl : crawls) {
      marks += crawl.changed() ? (utf8_ ? "●" : "*") : (utf8_ ? "·" : ".");
      gaps.push_back(crawl.has_elapsed() ? TimeUtil::DurationToMilliseconds(crawl.elapsed()) / 1e3
                                         : std::nan(""));
      if (crawl.has_elapsed()) longest = std::max(longest, gaps.back());
    }
    Title(fmt::format("the last {}, since {}", ShowCounted(crawls.size(), "crawl"),
                      ShowTime(crawls[0].fetch_time())));
    Say("changed", fmt::format("{}  {} found a change", marks, utf8_ ? "●" : "*"));
    if (longest <= 0) return;
    Say("time between",
        fmt::format("{}  up to {}", Sparkline(gaps, 0, longest, utf8_), SpanText(longest)));
  }

  std::ostream& out_;
  const v1::Page& page_;
  const v1::Explanation& why_;
  const bool utf8_;
};

// The response as JSON, with the forecast added: for each instant, the probability that the page is
// fresh and, if known, the page's value.
nlohmann::ordered_json ExplainedJson(const v1::GetPageResponse& response) {
  nlohmann::ordered_json object = ToJson(response);
  nlohmann::ordered_json forecast = nlohmann::ordered_json::array();
  for (const ForecastPoint& point : Forecast(response.explanation(), kForecastPoints)) {
    const auto time = response.explanation().as_of() +
                      TimeUtil::MillisecondsToDuration(std::llround(point.seconds * 1e3));
    nlohmann::ordered_json entry = {{"time", TimeUtil::ToString(time)},
                                    {"probability_fresh", point.probability_fresh}};
    if (std::isfinite(point.value)) entry["value"] = point.value;
    forecast.push_back(std::move(entry));
  }
  object["forecast"] = std::move(forecast);
  return object;
}

ExitCode Explain(Session& session, const ExplainOptions& options) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::PagesService::NewStub(session.channel());
  ExitCode code = kAccepted;
  for (const std::string& url : options.urls) {
    v1::GetPageRequest request;
    request.set_url(url);
    request.set_crawl_id(options.crawl_id);
    v1::GetPageResponse response;
    const grpc::Status status =
        Call(session, &v1::PagesService::Stub::GetPage, *stub, request, &response);
    if (!status.ok()) {
      code = FailOfPage(session, status, url);
      if (code == kUnreachable) return code;
    } else if (session.json()) {
      session.out() << JsonText(ExplainedJson(response)) << '\n';
    } else {
      Explainer(session.out(), response).Print();
    }
  }
  return code;
}

}  // namespace

void AddExplainCommand(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("explain", "Explain why pages are crawled or not, with a forecast");
  const auto options = std::make_shared<ExplainOptions>();
  command->add_option("URLS", options->urls, "URLs of pages")->required();
  command->add_option("--crawl-id", options->crawl_id,
                      "Crawl id (namespace) of the pages; default: DEFAULT");
  command->callback([options, &action] {
    action = [options](Session& session) { return Explain(session, *options); };
  });
}

}  // namespace freshet::cli
