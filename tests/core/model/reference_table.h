// Reads the reference tables of tests/vectors: a header line, then rows of cells.
#ifndef FRESHET_TESTS_CORE_MODEL_REFERENCE_TABLE_H_
#define FRESHET_TESTS_CORE_MODEL_REFERENCE_TABLE_H_

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {

struct ReferenceRow {
  std::map<std::string, std::string> cells;
  [[nodiscard]] double operator[](const std::string& column) const {
    return std::strtod(cells.at(column).c_str(), nullptr);
  }
};

inline std::vector<ReferenceRow> ReadReference(const std::string& name) {
  std::ifstream file(std::string(FRESHET_SOURCE_DIR "/tests/vectors/") + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::string line;
  std::getline(file, line);
  std::vector<std::string> columns;
  std::istringstream header(line);
  for (std::string column; header >> column;) columns.push_back(column);
  std::vector<ReferenceRow> rows;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    ReferenceRow row;
    for (const std::string& column : columns) cells >> row.cells[column];
    rows.push_back(std::move(row));
  }
  return rows;
}

// Expects |actual - expected| <= tolerance |expected|. Values under 1e-300 count as zero.
inline void ExpectRelative(double actual, double expected, double tolerance,
                           const std::string& what) {
  if (std::abs(actual - expected) <= 1e-300) return;
  EXPECT_LE(std::abs(actual - expected), tolerance * std::abs(expected))
      << what << ": " << actual << " where " << expected << " is right";
}

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_MODEL_REFERENCE_TABLE_H_
