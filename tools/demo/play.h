// Plays a prepared run against a server.
#ifndef FRESHET_TOOLS_DEMO_PLAY_H_
#define FRESHET_TOOLS_DEMO_PLAY_H_

#include <functional>
#include <string>

#include "core/base/status.h"
#include "tools/common/client_channel.h"
#include "tools/demo/truth.h"

namespace freshet::demo {

// Value type, thread-compatible.
struct PlayOptions {
  std::string run_dir;
  std::string server;       // host:port of gRPC
  ClientSecurity security;  // how both are reached
  std::string http;         // host:port of the console
  int workers = 3;          // Crawl streams, >= 1
  bool terminal = false;    // redraw a table; else a line a second
  NowMicros now;
  std::function<bool()> interrupted;  // asked often; true ends the replay early, in order
};

// Shows progress and, at the end or when interrupted, a summary on standard output. Unavailable
// when the server does not answer, ends, or cannot write its store.
[[nodiscard]] Status Play(const PlayOptions& options);

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_PLAY_H_
