// Runs our programs as a user would, to test command lines.
#ifndef FRESHET_TESTS_SUPPORT_RUN_PROGRAM_H_
#define FRESHET_TESTS_SUPPORT_RUN_PROGRAM_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Runs `command`, in shell syntax, with `input` as its standard input, and waits for its end.
// exit_code is -1 if a signal ended the program, and 127 if the program is missing.
inline ProgramResult RunCommand(const std::string& command, const std::string& input) {
  std::string pattern = ::testing::TempDir() + "freshet_run_XXXXXX";
  EXPECT_NE(mkdtemp(pattern.data()), nullptr) << pattern;
  const std::string stem = pattern + "/";
  std::ofstream(stem + "in", std::ios::binary) << input;
  const std::string line = command + " <" + stem + "in >" + stem + "out 2>" + stem + "err";
  const int status = std::system(line.c_str());
  ProgramResult result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.out = ReadWholeFile(stem + "out");
  result.err = ReadWholeFile(stem + "err");
  for (const char* name : {"in", "out", "err"}) std::remove((stem + name).c_str());
  rmdir(pattern.c_str());
  return result;
}

// Runs a program of FRESHET_BIN_DIR in the same way as RunCommand().
inline ProgramResult RunProgram(const std::string& command, const std::string& input) {
  return RunCommand(std::string(FRESHET_BIN_DIR) + "/" + command, input);
}

// Returns the rows of a tab-separated text with a header line. Each row maps columns to cells.
inline std::vector<std::map<std::string, std::string>> ParseTsv(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    size_t start = 0;
    while (true) {
      const size_t end = line.find('\t', start);
      cells.push_back(line.substr(start, end - start));
      if (end == std::string::npos) break;
      start = end + 1;
    }
    if (header.empty()) {
      header = cells;
      continue;
    }
    EXPECT_EQ(cells.size(), header.size()) << line;
    auto& row = rows.emplace_back();
    for (size_t i = 0; i < header.size() && i < cells.size(); ++i) row[header[i]] = cells[i];
  }
  return rows;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_RUN_PROGRAM_H_
