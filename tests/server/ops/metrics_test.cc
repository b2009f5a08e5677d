// Tests that the table of figures equals that in docs/metrics.md. If FRESHET_WRITE_GOLDEN is in the
// environment, writes the rows of the table. The headings and the text below them are written by
// hand.
#include "server/ops/metrics.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/figure.h"

namespace freshet {
namespace {

std::string RowOf(const Figure& figure) {
  constexpr const char* kTypes[] = {"gauge", "counter", "histogram"};
  std::string type = kTypes[static_cast<size_t>(figure.type)];
  for (const std::string& label : figure.labels) type += ", `" + label + "`";
  return "| `" + figure.name + "` | " + type + " | " + figure.text + " |\n";
}

std::map<std::string, std::string> RowsByHeading() {
  std::map<std::string, std::string> rows;
  std::string heading;
  for (const FigureSection& section : AllFigures()) {
    if (!section.heading.empty()) heading = section.heading;
    for (const Figure& figure : section.figures) {
      if (!figure.name.empty()) rows[heading] += RowOf(figure);
    }
  }
  return rows;
}

std::string WithRows(const std::string& document) {
  std::map<std::string, std::string> rows = RowsByHeading();
  std::string made;
  std::string heading;
  const std::vector<std::string> lines = absl::StrSplit(document, '\n');
  for (const std::string& line : lines) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line.starts_with("| `") && !line.starts_with("| `freshet:")) continue;
    made += line + "\n";
    if (line.starts_with("|---")) {
      made += rows[heading];
      rows.erase(heading);
    }
  }
  EXPECT_TRUE(rows.empty()) << "no table under the heading " << rows.begin()->first;
  made.pop_back();
  return made;
}

TEST(Metrics, AreThoseOfTheDocument) {
  const std::string path = FRESHET_SOURCE_DIR "/docs/metrics.md";
  std::ifstream file(path);
  std::ostringstream document;
  document << file.rdbuf();
  const std::string made = WithRows(document.str());
  if (std::getenv("FRESHET_WRITE_GOLDEN") != nullptr) std::ofstream(path) << made;
  EXPECT_TRUE(document.str() == made)
      << "docs/metrics.md is not what the table gives: FRESHET_WRITE_GOLDEN=1 writes it";
}

TEST(Metrics, HaveTheTextOfTheDocumentAsHelp) {
  EXPECT_THAT(RenderMetrics(ServerStatus()),
              testing::HasSubstr("# HELP freshet_forced_assignments_total assignments of forced "
                                 "pages\n"));
}

}  // namespace
}  // namespace freshet
