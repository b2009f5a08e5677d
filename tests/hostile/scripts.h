// The hostile scripts. Each has a separate file in scripts/.
#ifndef FRESHET_TESTS_HOSTILE_SCRIPTS_H_
#define FRESHET_TESTS_HOSTILE_SCRIPTS_H_

#include <string>

#include "tests/hostile/attack.h"

namespace freshet::hostile {

// Scripts against the shared server. Each attacks until Attack::Over().
void Streams(Attack& attack);
void Floods(Attack& attack);
void Garbage(Attack& attack);
void Giants(Attack& attack);
void Frames(Attack& attack);
void Resets(Attack& attack);
void Bursts(Attack& attack);
void Reads(Attack& attack);
void Drips(Attack& attack);
void Idlers(Attack& attack);
void Headers(Attack& attack);
void KnownHeaders(Attack& attack);
void Clocks(Attack& attack);
void BlackHoles(Attack& attack);
void Leases(Attack& attack);
void Sites(Attack& attack);

// Scripts with a separate server, which keeps its files in `directory`. Each returns "" or an
// error.
std::string Descriptors(const std::string& directory, Random random);
std::string FullDisk(const std::string& directory, Random random);
std::string Forced(const std::string& directory, Random random);

struct Script {
  const char* name;
  void (*play)(Attack& attack);
};
inline constexpr Script kScripts[] = {
    {"streams", Streams},
    {"floods", Floods},
    {"garbage", Garbage},
    {"giants", Giants},
    {"frames", Frames},
    {"resets", Resets},
    {"bursts", Bursts},
    {"reads", Reads},
    {"drips", Drips},
    {"idlers", Idlers},
    {"headers", Headers},
    {"clocks", Clocks},
    {"leases", Leases},
    {"sites", Sites},
    {"black_holes", BlackHoles},
    {"known_headers", KnownHeaders},
};
struct OwnScript {
  const char* name;
  std::string (*play)(const std::string& directory, Random random);
};
inline constexpr OwnScript kOwnScripts[] = {
    {"descriptors", Descriptors}, {"full_disk", FullDisk}, {"forced", Forced}};

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_SCRIPTS_H_
