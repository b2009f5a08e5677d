// The record of a source of change signals. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_SOURCE_H_
#define FRESHET_CORE_MODEL_SOURCE_H_

#include <cstdint>
#include <string>

namespace freshet {

// A named source of change signals. Metrics count its signals, and the site model stores how much
// the source is trusted.
struct SourceRecord {
  std::string name;
  uint8_t index = 0;     // below limits::kMaxSources; never changes once assigned
  bool retired = false;  // the server refuses its signals; name and index are kept for past counts
  bool operator==(const SourceRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_SOURCE_H_
