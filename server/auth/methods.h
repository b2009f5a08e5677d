// The table of methods: every method of every service on the gRPC port, and every path of the HTTP
// port. A rule says which roles may call the method, and which server of a fleet answers. Once
// identities are configured, every other call is refused. A test compares the table with the
// descriptors of all services.
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
inline constexpr Roles kIngester = 2;  // adds pages, and signals changes
inline constexpr Roles kReader = 4;    // reads everything
inline constexpr Roles kAdmin = 8;     // may do everything
inline constexpr Roles kAnyRole = kWorker | kIngester | kReader | kAdmin;

// The role with this name in auth files; 0 = none.
[[nodiscard]] Roles RoleNamed(std::string_view name);
// The names of the roles, such as "reader or admin".
[[nodiscard]] std::string RoleNames(Roles roles);

// The kinds of limits that an identity can have, one bit each.
using LimitKinds = uint8_t;
inline constexpr LimitKinds kNoLimits = 0;
inline constexpr LimitKinds kCrawlIds = 1;
inline constexpr LimitKinds kHosts = 2;
inline constexpr LimitKinds kSources = 4;

// Says which servers answer a call in a fleet with a server for each division. The server that a
// client reaches forwards the call; a forwarded call is not forwarded again. For unary calls,
// server/api/routing.h does this. For kByItem, kCredit and kInTurn, the handlers themselves ask the
// other servers.
enum class Route : uint8_t {
  kHere,       // this server answers
  kByHost,     // the server with the request's `host`, or the host of its `url`, answers
  kByItem,     // each item goes to the server with its host or its lease
  kCredit,     // this server answers; its workers' credit is lent to all (server/api/lent_credit.h)
  kAll,        // all servers answer; the sum names divisions without an answer
  kInTurn,     // a list: the servers of the divisions answer one after the other
  kDoneByAll,  // all servers run the call; if one fails, the call fails
  kKeeper,     // the server of division 0, which keeps the crawl rate and the frontier, answers
  kSetting,    // the server of division 0 changes a setting, and all others copy it
  kRemoval,    // like kSetting, but all servers run the call, as each may know other names
  kPause,      // pauses this server, then like kSetting; if division 0 is down, pauses all others
};

// The rule of one method. Value type, thread-compatible.
struct MethodRule {
  // "/freshet.v1.AdminService/Pause", or "http:/metrics".
  std::string_view path;
  Route route = Route::kHere;
  // The caller needs one of these roles, or admin. 0 = everybody may call, even without an
  // identity.
  Roles roles = kAdmin;
  // The kinds of limits that the method checks for each item. An identity with any other limit may
  // not call the method at all, because the method would not enforce that limit.
  LimitKinds checked = kNoLimits;
  // The method's name in auth.open; empty = it cannot be listed there.
  std::string_view open_as;
  // Whether only servers of the fleet may call the method. A server of the fleet proves itself with
  // a key.
  bool between_servers = false;
  // Whether the audit log records calls of the method although the caller need not be an admin,
  // because the calls affect other clients. Programs can make these calls all the time, so the log
  // records only a few a minute for each client and target.
  bool noted = false;
  // Whether a call keeps a thread busy for a long time although its request is short. Even a short
  // request then waits for the turn of its client.
  bool expensive = false;
};

// Finds the rule of a path; nullptr = none. Thread-safe.
[[nodiscard]] const MethodRule* FindMethod(std::string_view path);
[[nodiscard]] std::span<const MethodRule> AllMethods();
// Whether the method changes the server: only admins may call it, and it does more than read.
// Thread-safe.
[[nodiscard]] bool ChangesServer(const MethodRule& rule);

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_METHODS_H_
