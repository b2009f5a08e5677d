// Tests that plots are well-formed, and draw nothing outside their area.
#include "lab/plot/svg_plot.h"

#include <cstdio>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/plot/plot_axis.h"
#include "pugixml.hpp"

namespace freshet {
namespace {

using ::testing::ElementsAre;

pugi::xml_document ParseSvg(const std::string& text) {
  pugi::xml_document document;
  const auto parsed = document.load_string(text.c_str());
  EXPECT_TRUE(parsed) << parsed.description();
  return document;
}

TEST(AxisTicks, AreRound) {
  EXPECT_THAT(AxisTicks(0, 10, false), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(AxisTicks(100, 1000, false), ElementsAre(200, 400, 600, 800, 1000));
  EXPECT_THAT(AxisTicks(-1, 1, false), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(AxisTicks(100, 1000, true), ElementsAre(100, 200, 500, 1000));
  EXPECT_THAT(AxisTicks(1, 1e4, true), ElementsAre(1, 10, 100, 1000, 10000));
  EXPECT_EQ(AxisTicks(200, 300, true).size(), 6u);  // less than two decades: steps of 1, 2, 5
}

TEST(SvgPlot, TextIsEscaped) {
  const Plot plot{.title = "a < b & c",
                  .x_label = "<x>",
                  .y_label = "y & z",
                  .series = {{"<one>", {{1, 2, 0.1}, {2, 3, 0}}}}};
  const pugi::xml_document svg = ParseSvg(FormatSvg(plot));
  EXPECT_STREQ(svg.document_element().child_value("title"), "a < b & c");
  EXPECT_FALSE(svg.select_node("//text[text()='<one>']").node().empty());
  EXPECT_FALSE(svg.select_node("//text[text()='<x>']").node().empty());
}

TEST(SvgPlot, BarsAreWhereThereIsAnError) {
  Plot plot{.series = {{"one", {{1, 2, 0.5}, {2, 3, 0}}}}};
  EXPECT_EQ(ParseSvg(FormatSvg(plot)).select_nodes("//path[@class='bar0']").size(), 1u);
  plot.series[0].points[0].error = 0;
  EXPECT_TRUE(ParseSvg(FormatSvg(plot)).select_nodes("//path[@class='bar0']").empty());
}

TEST(SvgPlot, HighValuesAreHighAndLogarithmsAreEven) {
  Plot plot{.log_x = true, .series = {{"one", {{1, 1, 0}, {10, 2, 0}, {100, 3, 0}}}}};
  const pugi::xml_document svg = ParseSvg(FormatSvg(plot));
  double x[3];
  double y[3];
  int n = 0;
  for (const auto& mark : svg.select_nodes("//path[@class='mark0']")) {
    if (n == 3) break;  // the rest is in the legend
    ASSERT_EQ(std::sscanf(mark.node().attribute("d").value(), "M%lf %lfm", &x[n], &y[n]), 2);
    ++n;
  }
  ASSERT_EQ(n, 3);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.02);
  EXPECT_GT(x[1], x[0]);
  EXPECT_LT(y[2], y[1]);
}

TEST(SvgPlot, LogarithmicHeightsAreEvenAndBarsStayInside) {
  const Plot plot{.log_y = true, .series = {{"one", {{1, 1, 2}, {2, 10, 0}, {3, 100, 0}}}}};
  const pugi::xml_document svg = ParseSvg(FormatSvg(plot));
  double y[3];
  int n = 0;
  for (const auto& mark : svg.select_nodes("//path[@class='mark0']")) {
    double x = 0;
    if (n == 3) break;  // the rest is in the legend
    ASSERT_EQ(std::sscanf(mark.node().attribute("d").value(), "M%lf %lfm", &x, &y[n]), 2);
    ++n;
  }
  ASSERT_EQ(n, 3);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.02);
  double x = 0;
  double low = 0;
  const char* bar = svg.select_node("//path[@class='bar0']").node().attribute("d").value();
  ASSERT_EQ(std::sscanf(bar, "M%lf %lfV", &x, &low), 2);
  EXPECT_LE(low, 351);  // the lower end, below 0, is at the axis
}

// By default, freshet-sim compare plays ten policies.
TEST(SvgPlot, TenSeriesHaveAMarkerEach) {
  Plot plot;
  for (int i = 0; i < 10; ++i) plot.series.push_back({std::to_string(i), {{1, 1.0 + i, 0}}});
  const pugi::xml_document svg = ParseSvg(FormatSvg(plot));
  std::set<std::string> markers;
  for (const auto& mark : svg.select_nodes("//path[starts-with(@class, 'mark')]")) {
    const std::string path = mark.node().attribute("d").value();
    markers.insert(path.substr(path.find('m')));
  }
  EXPECT_EQ(markers.size(), 10u);
}

TEST(SvgPlot, ScatteredPointsHaveADiagonalAndNoLine) {
  const Plot plot{.form = PlotForm::kScatter, .series = {{"one", {{1, 1, 0}, {2, 3, 0}}}}};
  const pugi::xml_document svg = ParseSvg(FormatSvg(plot));
  EXPECT_TRUE(svg.select_nodes("//path[starts-with(@class, 'line ')]").empty());
  EXPECT_EQ(svg.select_nodes("//path[@class='mark0']").size(), 3u);  // one in the legend
  EXPECT_EQ(svg.select_nodes("//path[@class='axis']").size(), 2u);
}

TEST(SvgPlot, BarsStandOnTheAxisUnderTheirCategory) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Plot plot{.form = PlotForm::kBars,
                  .categories = {"cost", "share"},
                  .series = {{"one", {{0, 2, 0.5}, {1, 4, 0}}}, {"two", {{0, infinite, 0}}}}};
  const pugi::xml_document svg = ParseSvg(FormatSvg(plot));
  EXPECT_FALSE(svg.select_node("//text[text()='share']").node().empty());
  EXPECT_FALSE(svg.select_node("//text[text()='∞']").node().empty());
  double left = 0;
  double bottom = 0;
  double top = 0;
  const char* box = svg.select_node("//path[@class='box0']").node().attribute("d").value();
  ASSERT_EQ(std::sscanf(box, "M%lf %lfV%lfH", &left, &bottom, &top), 3);
  EXPECT_EQ(bottom, 350);
  EXPECT_LT(top, bottom);
  const char* endless = svg.select_node("//path[@class='box1']").node().attribute("d").value();
  ASSERT_EQ(std::sscanf(endless, "M%lf %lfV%lfH", &left, &bottom, &top), 3);
  EXPECT_EQ(top, 40);
}

TEST(SvgPlot, DrawsNothingOfWhatIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<PlotPoint>& points : std::vector<std::vector<PlotPoint>>{
           {}, {{1, nan, 0}}, {{1, 1, 0}}, {{1, 0, 0}, {2, 0, 0}}, {{1, 1, 0}, {2, nan, 0}}}) {
    const std::string text = FormatSvg({.series = {{"one", points}}});
    ParseSvg(text);
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_EQ(text.find("inf"), std::string::npos);
  }
  ParseSvg(FormatSvg({}));
}

}  // namespace
}  // namespace freshet
