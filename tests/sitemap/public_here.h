// Treats one address of this machine as public, and all others as private.
#ifndef FRESHET_TESTS_SITEMAP_PUBLIC_HERE_H_
#define FRESHET_TESTS_SITEMAP_PUBLIC_HERE_H_

#include "core/base/ip_address.h"

namespace freshet::sitemap {

inline constexpr const char* kPublic = "127.0.0.2";
inline bool IsPublicHere(const IpAddress& address) { return address == *ParseIpAddress(kPublic); }

}  // namespace freshet::sitemap

#endif  // FRESHET_TESTS_SITEMAP_PUBLIC_HERE_H_
