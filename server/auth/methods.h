// Which roles may call what, as one table: every method of every service on the gRPC port, and
// every path of the HTTP port. What is not in it nobody may call once identities are configured. A
// test holds it against the descriptors of all services.
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
inline constexpr Roles kIngester = 2;  // says which pages there are, and that some have changed
inline constexpr Roles kReader = 4;    // sees what is known
inline constexpr Roles kAdmin = 8;     // may do everything
inline constexpr Roles kAnyRole = kWorker | kIngester | kReader | kAdmin;

// By the name that files have for it; 0: there is none.
[[nodiscard]] Roles RoleNamed(std::string_view name);
// "reader or admin".
[[nodiscard]] std::string RoleNames(Roles roles);

// A set of the kinds of things that an identity may be limited to, one bit each.
using LimitKinds = uint8_t;
inline constexpr LimitKinds kNoLimits = 0;
inline constexpr LimitKinds kCrawlIds = 1;
inline constexpr LimitKinds kHosts = 2;
inline constexpr LimitKinds kSources = 4;

// Value type, thread-compatible.
struct MethodRule {
  // "/freshet.v1.AdminService/Pause", or "http:/metrics".
  std::string_view path;
  // Any of them will do; admin always does. Zero: everybody may, without an identity.
  Roles roles = kAdmin;
  // What is checked of each item. An identity that is limited otherwise may not call it at all:
  // nothing would hold it to its limits.
  LimitKinds checked = kNoLimits;
  // What auth.open calls it; empty: it cannot be opened.
  std::string_view open_as;
  // For servers of the fleet, which show that they are: nothing to clients.
  bool between_servers = false;
  // What programs may change all the time, and others feel: the audit log has a few calls a minute
  // of each client.
  bool noted = false;
};

// nullptr: there is no such rule. Thread-safe.
[[nodiscard]] const MethodRule* FindMethod(std::string_view path);
[[nodiscard]] std::span<const MethodRule> AllMethods();
// Whether it is for those alone who may change the server, and changes it. Thread-safe.
[[nodiscard]] bool ChangesServer(const MethodRule& rule);

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_METHODS_H_
