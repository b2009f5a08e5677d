// Polls several sites in parallel, so that a slow site does not delay the others.
#ifndef FRESHET_TOOLS_SITEMAP_POLLS_H_
#define FRESHET_TOOLS_SITEMAP_POLLS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/units.h"
#include "tools/sitemap/poller.h"

namespace freshet::sitemap {

// Options for polling several sites. Value type, thread-compatible.
struct PollsOptions {
  PollerOptions poller;
  // The number of sites that are polled at the same time. All URLs of one host and port, with or
  // without www, belong to one site, whose documents are fetched one after the other.
  size_t at_once = 16;
  bool watch = false;  // poll again when due, until `wait` says to stop
  // The wait before a site is polled again if the server did not accept its news.
  Duration retry = Duration::Seconds(10);
};

// Waits until the descriptor is readable, or for this time. Returns true if everything should stop.
using Waiting = std::function<bool(Duration, int descriptor)>;

// Polls the arguments of a command line (Poller::Poll), each once or whenever it is due. Returns
// when all are done, when `wait` returns true, or at the first error of the state file or the
// sender, which stops all polls. With `watch`, an unreachable server is not an error. The other
// arguments are those of a poller. `clock` and `cancelled` must be thread-safe. Thread-compatible.
[[nodiscard]] absl::Status RunPolls(const PollsOptions& options,
                                    const std::vector<std::string>& arguments, int input,
                                    PollState& state, const MakeSender& make_sender,
                                    const std::function<Instant()>& clock,
                                    const std::function<void(const DocumentReport&)>& report,
                                    const Waiting& wait);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_POLLS_H_
