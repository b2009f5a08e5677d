// Explains arguments that are neither a URL nor a file.
#ifndef FRESHET_TOOLS_CLI_URL_ARGUMENT_H_
#define FRESHET_TOOLS_CLI_URL_ARGUMENT_H_

#include <string>
#include <string_view>

#include "core/base/wrong_value.h"

namespace freshet::cli {

// Returns "'example.org' is not a URL (https://...) or a file, did you mean https://example.org/?".
// Suggests a URL for text that looks like a host. Thread-safe.
[[nodiscard]] inline std::string NeitherUrlNorFile(std::string_view argument) {
  std::string wrong = WrongValue(argument, "a URL (https://...) or a file");
  const std::string_view host = argument.substr(0, argument.find('/'));
  const size_t dot = host.rfind('.');
  const bool letters =
      host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string_view::npos;
  for (const std::string_view ending : {".txt", ".tsv", ".csv", ".json", ".jsonl", ".xml", ".gz"}) {
    if (argument.ends_with(ending)) return wrong;
  }
  if (!letters || dot == std::string_view::npos || dot == 0 || host.size() - dot < 3) return wrong;
  return wrong + ", did you mean https://" + std::string(argument) +
         (argument.find('/') == std::string_view::npos ? "/?" : "?");
}

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_URL_ARGUMENT_H_
