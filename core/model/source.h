// The record of a source of change signals. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_SOURCE_H_
#define FRESHET_CORE_MODEL_SOURCE_H_

#include <cstdint>
#include <string>

namespace freshet {

// A named source of change signals. Metrics count its signals; the site model has its trust.
struct SourceRecord {
  std::string name;
  uint8_t index = 0;     // below limits::kMaxSources; frozen once given
  bool retired = false;  // its signals are refused; name and index stay, for past counts
  bool operator==(const SourceRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_SOURCE_H_
