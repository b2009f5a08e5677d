// Finds out why a server cannot be reached.
#ifndef FRESHET_TOOLS_CLI_PROBE_H_
#define FRESHET_TOOLS_CLI_PROBE_H_

#include <string>

namespace freshet::cli {

// The kind of answer at an address.
enum class Probed {
  kNobody,  // connections are refused
  kHttp,    // the answer is HTTP/1
  kOther,   // something else answers, or the answer is unknown
};

// Connects to "host:port" in plain text and asks for a page. Takes at most about a second, not
// counting the lookup of the name. Thread-safe.
[[nodiscard]] Probed Probe(const std::string& address);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_PROBE_H_
