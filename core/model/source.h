// What is kept of a source of change signals. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_SOURCE_H_
#define FRESHET_CORE_MODEL_SOURCE_H_

#include <cstdint>
#include <string>

namespace freshet {

// A named source of change signals. What it has sent is counted in metrics; what it is worth is
// part of the site model.
struct SourceRecord {
  std::string name;
  uint8_t index = 0;     // below limits::kMaxSources; frozen once given
  bool retired = false;  // its signals are refused; name and index stay, for what was counted
  bool operator==(const SourceRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_SOURCE_H_
