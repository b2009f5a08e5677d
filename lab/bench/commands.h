// The subcommands of freshet-bench. Each has a separate file (lab/bench/NAME.cc), which declares
// its flags on the application and sets the action that runs it.
#ifndef FRESHET_LAB_BENCH_COMMANDS_H_
#define FRESHET_LAB_BENCH_COMMANDS_H_

#include <span>

#include "CLI/CLI.hpp"
#include "core/base/status.h"
#include "lab/common/command_line.h"
#include "nlohmann/json.hpp"
#include "tools/common/command_help.h"

namespace freshet {

// Prints a result as a line of JSON. Adds fields that identify the build and the machine: "commit"
// (of the sources as configured), "cpu" and "cores".
void PrintLine(nlohmann::ordered_json line);

// The largest resident memory of this process so far, in megabytes (2^20 bytes); 0 = unknown.
[[nodiscard]] double PeakMemoryMb();

// Returns examples of every command, for its help. Each line can be run as written.
[[nodiscard]] std::span<const CommandExample> BenchExamples();

void AddEpochBench(CLI::App& app, CommandAction& action);
void AddFirstHourBench(CLI::App& app, CommandAction& action);
void AddIndexBench(CLI::App& app, CommandAction& action);
void AddPlanBench(CLI::App& app, CommandAction& action);
void AddPromisesBench(CLI::App& app, CommandAction& action);
void AddStoreBench(CLI::App& app, CommandAction& action);
void AddRecoverBench(CLI::App& app, CommandAction& action);
void AddServeBench(CLI::App& app, CommandAction& action);
void AddSwitchBench(CLI::App& app, CommandAction& action);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_COMMANDS_H_
