// Plays a prepared run against a server.
#ifndef FRESHET_LAB_DEMO_PLAY_H_
#define FRESHET_LAB_DEMO_PLAY_H_

#include <functional>
#include <string>

#include "core/base/status.h"
#include "lab/demo/truth.h"
#include "tools/common/client_channel.h"

namespace freshet::demo {

// The options of Play. Value type, thread-compatible.
struct PlayOptions {
  std::string run_dir;
  std::string server;       // host:port of gRPC
  ClientSecurity security;  // for both connections
  std::string http;         // host:port of the console
  int workers = 3;          // Crawl streams, >= 1
  bool terminal = false;    // redraws a table; false = prints a line each second
  NowMicros now;
  std::function<bool()> interrupted;  // called often; if true, the replay is ended early and
                                      // cleanly
};

// Shows progress and, at the end or when interrupted, a summary on standard output. Unavailable:
// the server does not answer, has ended, or cannot write its store.
[[nodiscard]] Status Play(const PlayOptions& options);

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_PLAY_H_
