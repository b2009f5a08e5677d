// The table of who may call what, and which server of a fleet answers: every method of every
// service on the gRPC port, and every path of the HTTP port. Once identities are configured, nobody
// may call anything else. A test holds the table against the descriptors of all services.
#ifndef FRESHET_SERVER_AUTH_METHODS_H_
#define FRESHET_SERVER_AUTH_METHODS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace freshet {

// A set of roles, one bit each.
using Roles = uint8_t;
inline constexpr Roles kWorker = 1;    // fetches pages and reports on them
inline constexpr Roles kIngester = 2;  // names pages and says that some have changed
inline constexpr Roles kReader = 4;    // sees everything that is known
inline constexpr Roles kAdmin = 8;     // may do everything
inline constexpr Roles kAnyRole = kWorker | kIngester | kReader | kAdmin;

// The role by its name in files; 0 = there is none.
[[nodiscard]] Roles RoleNamed(std::string_view name);
// "reader or admin".
[[nodiscard]] std::string RoleNames(Roles roles);

// A set of the kinds of things that an identity may be limited to, one bit each.
using LimitKinds = uint8_t;
inline constexpr LimitKinds kNoLimits = 0;
inline constexpr LimitKinds kCrawlIds = 1;
inline constexpr LimitKinds kHosts = 2;
inline constexpr LimitKinds kSources = 4;

// The servers that answer a call in a fleet with a server for each division. The server that a
// client reaches passes the call on; a call that a server has passed on goes no further. Handlers
// know no other server (server/api/routing.h).
enum class Route : uint8_t {
  kHere,    // this server answers
  kByHost,  // the server with the request's `host`, or the host of its `url`, answers
  kByItem,  // each item goes to the server with its host or its lease
  kCredit,  // this server, whose workers' credit is lent to all others (server/api/lent_credit.h)
  kAll,     // all servers answer; the sum of the answers names the divisions without one
  kInTurn,  // a list: the servers of the divisions answer one after the other
  kDoneByAll,  // all servers do it, else the call fails
  kKeeper,     // the server of division 0, which keeps the crawl rate and the frontier, answers
  kSetting,    // the server of division 0 changes a setting, which all others follow
  kRemoval,    // as kSetting; each server also removes what it alone knows
  kPause,      // this server does it at once, then as kSetting; without division 0, all that can
};

// The rule of one method. Value type, thread-compatible.
struct MethodRule {
  // "/freshet.v1.AdminService/Pause", or "http:/metrics".
  std::string_view path;
  Route route = Route::kHere;
  // Any of these roles will do, and admin always does. 0 = everybody, without an identity.
  Roles roles = kAdmin;
  // The limits that are checked for each item. An identity with another limit may not call the
  // method at all: nothing would hold it to that limit.
  LimitKinds checked = kNoLimits;
  // The method's name in auth.open; empty = it cannot be opened.
  std::string_view open_as;
  // Only servers of the fleet, which prove that they are, may call it.
  bool between_servers = false;
  // Whether the audit log takes only a few such calls a minute of each client. Programs may call it
  // all the time, and others feel it.
  bool noted = false;
  // Whether a call takes a thread for long, however short its request: clients take turns.
  bool dear = false;
};

// nullptr = there is no such rule. Thread-safe.
[[nodiscard]] const MethodRule* FindMethod(std::string_view path);
[[nodiscard]] std::span<const MethodRule> AllMethods();
// Whether only those may call it who may change the server, and it changes the server. Thread-safe.
[[nodiscard]] bool ChangesServer(const MethodRule& rule);

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_METHODS_H_
