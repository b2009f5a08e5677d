// Draws one screen of `freshet top`: the state of a server.
#ifndef FRESHET_TOOLS_CLI_TOP_FRAME_H_
#define FRESHET_TOOLS_CLI_TOP_FRAME_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "freshet/v1/admin.pb.h"

namespace freshet::cli {

// The server's answers for one frame. Value type, thread-compatible.
struct TopSample {
  v1::GetStatisticsResponse statistics;
  // Answers of ListSources, ListCrawls and GetTrustReport; empty if this client has no right to
  // call them.
  std::vector<v1::Source> sources;
  std::vector<v1::Crawl> crawls;
  std::vector<v1::HostTrust> quarantined;
};

// The size of a terminal in cells. Value type, thread-compatible.
struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
};

// Turns samples of counters, the latest last, into frames. Owner thread only.
class TopFrames {
 public:
  explicit TopFrames(bool utf8) : utf8_(utf8) {}

  // Adds a sample. The last 240 samples are kept. If the server was restarted since the previous
  // sample, a new history begins.
  void Add(TopSample sample);

  // Returns the lines of a frame for the last sample. They fit the screen in width and number.
  // Rates are measured since the previous sample, by the server's clock; they are `-` if there is
  // only one sample. Precondition: there is a sample.
  [[nodiscard]] std::vector<std::string> Lines(ScreenSize screen) const;

 private:
  struct Rates {
    double assignments = 0;  // all rates are per second
    double results = 0;
    double changes = 0;
    double errors = 0;
    double signals = 0;
  };
  struct Moment {
    double price = 0;
    double freshness = 0;
    std::optional<Rates> rates;
  };

  [[nodiscard]] std::optional<Rates> RatesSince(const v1::GetStatisticsResponse& before,
                                                const v1::GetStatisticsResponse& now) const;
  [[nodiscard]] std::string Curve(const std::vector<double>& values, size_t width) const;
  void AddState(std::vector<std::string>& lines) const;
  void AddCurves(ScreenSize screen, std::vector<std::string>& lines) const;
  void AddTables(ScreenSize screen, std::vector<std::string>& lines) const;

  const bool utf8_;
  TopSample last_;
  std::deque<Moment> moments_;
};

// Cuts `text` to `columns` characters; every code point counts as one.
[[nodiscard]] std::string FitLine(const std::string& text, size_t columns);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TOP_FRAME_H_
