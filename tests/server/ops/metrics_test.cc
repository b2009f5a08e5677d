// Every metric is documented, and every documented metric exists.
#include "server/ops/metrics.h"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

std::set<std::string> NamesIn(const std::string& text, const std::string& pattern) {
  std::set<std::string> names;
  const std::regex regex(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

TEST(Metrics, AreThoseOfTheDocument) {
  const Metrics metrics;
  const std::string rendered = metrics.Render(ServerStatus(), {{"a", 1.5}});
  std::ifstream file(FRESHET_SOURCE_DIR "/docs/metrics.md");
  std::ostringstream document;
  document << file.rdbuf();
  EXPECT_EQ(NamesIn(rendered, "# TYPE ([a-z_]+) "),
            NamesIn(document.str(), "\\| `((?:freshet|process)_[a-z_]+)` \\|"));
}

TEST(Metrics, CarryTheNumbersOfTheStatus) {
  Metrics metrics;
  ServerStatus status;
  status.counters.pages = 12;
  status.counters.signals_unknown_url = 3;
  status.signals_refused = 5;
  status.dispatch.ticks_late = 4;
  status.sources.push_back({.name = "cdn", .signals = 8});
  status.failure = MakeStatus(absl::StatusCode::kResourceExhausted, "/data: 4711 bytes are free");
  status.http.evicted = 7;
  status.http.refused = 6;
  status.door.tls = true;
  status.door.certificate_not_after = Instant::FromUnixSeconds(1'800'000'000);
  status.door.failed_reloads = 3;
  status.door.auth.permission_denied = 9;
  metrics.OnCommit(Duration::Millis(2), 50);
  const std::string text = metrics.Render(status, {});
  for (const char* line :
       {"freshet_pages 12\n", "freshet_unused_ticks_total{reason=\"late\"} 4\n",
        "freshet_source_signals_total{source=\"cdn\"} 8\n",
        "freshet_signals_total{outcome=\"unknown_page\"} 3\n",
        "freshet_signals_total{outcome=\"refused\"} 2\n", "freshet_store_writable 0\n",
        "freshet_store_failure_info{reason=\"disk_full\"} 1\n", "freshet_commit_seconds_count 1\n",
        "freshet_http_connections_ended_total{reason=\"evicted\"} 7\n",
        "freshet_http_refused_total 6\n",
        "freshet_tls_not_after_timestamp_seconds{file=\"certificate\"} 1800000000\n",
        "freshet_credential_reloads_total{outcome=\"refused\"} 3\n",
        "freshet_denied_calls_total{reason=\"permission_denied\"} 9\n",
        "freshet_commit_events_sum 50\n"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace freshet
