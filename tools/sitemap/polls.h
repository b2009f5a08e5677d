// Polls of several sites, side by side: one that is slow keeps nobody waiting.
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

struct PollsOptions {
  PollerOptions poller;
  // Sites that are waited for at once. What is of one host and port, or www of it, is one site,
  // whose documents are fetched one after the other.
  size_t at_once = 16;
  bool watch = false;  // poll again when that is due, until `wait` says to stop
  // How soon a site is polled again whose news the server did not take.
  Duration retry = Duration::Seconds(10);
};

// Waits until the descriptor can be read, or so long; true: all is to stop.
using Waiting = std::function<bool(Duration, int descriptor)>;

// Polls what the arguments of a command line name (Poller::Poll): each once, or as it is due. Ends
// when all is done, `wait` says so, or with the first error of state or sender, which stops the
// others; while watching, that the server cannot be reached is no such error. The other arguments
// are those of a poller; the clock, and what asks whether to cancel, are thread-safe.
// Thread-compatible.
[[nodiscard]] absl::Status RunPolls(const PollsOptions& options,
                                    const std::vector<std::string>& arguments, int input,
                                    PollState& state, const MakeSender& make_sender,
                                    const std::function<Instant()>& clock,
                                    const std::function<void(const DocumentReport&)>& report,
                                    const Waiting& wait);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_POLLS_H_
