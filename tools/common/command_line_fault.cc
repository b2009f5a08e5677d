#include "tools/common/command_line_fault.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/base/wrong_value.h"
#include "fmt/format.h"
#include "tools/common/allowed_values.h"

namespace freshet {
namespace {

// Returns the innermost command on the command line, or the program itself.
const CLI::App& LastCommand(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

std::string UnknownCommand(const CLI::App& command, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands(nullptr)) names.push_back(one->get_name());
  return WrongValue(word, "a command") + DidYouMean(word, names);
}

// Flags of the program are allowed after a command, too.
std::string UnknownFlag(const CLI::App& app, const CLI::App& command, std::string_view word) {
  const std::string flag(word.substr(0, word.find('=')));
  std::vector<std::string> names;
  for (const CLI::App* of : {&command, &app}) {
    for (const CLI::Option* option : of->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  const std::string shown = Quoted(flag);
  return fmt::format("unknown flag {}", shown.substr(1, shown.size() - 2)) +
         DidYouMean(flag, names);
}

// Returns the fault of a command line with leftover words. CLI11 expects a command before any other
// word, and reports all leftover words at once, among them the values of unknown flags.
std::string Leftover(const CLI::App& app, bool wants_command) {
  const CLI::App& command = LastCommand(app);
  const std::vector<std::string> words = app.remaining(true);
  for (const std::string& word : words) {
    if (word.starts_with('-')) return UnknownFlag(app, command, word);
  }
  if (words.empty()) return "no command";
  if (wants_command) return UnknownCommand(command, words.front());
  const std::string name = command.get_parent() == nullptr
                               ? command.get_name()
                               : fmt::format("{} {}", app.get_name(), command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      return fmt::format("{} is one argument too many for {}", Quoted(words.front()), name);
    }
  }
  return fmt::format("{} is not expected: {} takes only flags", Quoted(words.front()), name);
}

bool IsNumber(const std::string& text, bool whole) {
  char* end = nullptr;
  errno = 0;
  if (whole) {
    (void)std::strtoll(text.c_str(), &end, 10);
  } else {
    (void)std::strtod(text.c_str(), &end);
  }
  return !text.empty() && *end == '\0' && errno == 0;
}

// Returns the first value that is not of the option's kind or is out of its range; if there is
// none, the last value.
std::string FaultyValue(const CLI::Option& option, const AllowedValues& allowed) {
  const std::vector<std::string> values = option.results();
  if (values.empty()) return {};
  for (const std::string& value : values) {
    const bool whole = allowed.noun.starts_with("a whole");
    if (!IsNumber(value, whole)) return value;
    if (allowed.low.empty()) {
      // The value is a whole number, but negative, which the option does not allow.
      if (whole && value.starts_with('-') && allowed.noun != "a whole number") return value;
      continue;
    }
    const double number = std::strtod(value.c_str(), nullptr);
    if (!(number >= std::strtod(allowed.low.c_str(), nullptr) &&
          number <= std::strtod(allowed.high.c_str(), nullptr))) {
      return value;
    }
  }
  return values.back();
}

// Returns the first value that is not among the choices.
std::string WrongChoiceOf(const CLI::Option& option, const AllowedValues& allowed) {
  for (const std::string& value : option.results()) {
    bool known = false;
    for (const std::string& choice : allowed.choices) known = known || choice == value;
    if (!known) return WrongChoice(value, allowed.choices);
  }
  return {};
}

// Returns what is wrong with an option's value, judged by the kind of the option; empty = nothing.
std::string WrongValueOf(const CLI::Option& option) {
  const AllowedValues allowed = AllowedValuesOf(option);
  std::string wrong;
  if (!allowed.choices.empty()) {
    wrong = WrongChoiceOf(option, allowed);
  } else if (!allowed.noun.empty()) {
    wrong = WrongValue(FaultyValue(option, allowed), Described(allowed));
  } else if (allowed.kind == "FILE") {
    wrong = WrongValue(FaultyValue(option, allowed), "a file that exists");
  }
  return wrong.empty() ? wrong : fmt::format("{}: {}", option.get_name(), wrong);
}

// Returns the option whose name follows `before` in a message of CLI11.
const CLI::Option* OptionIn(const CLI::App& app, std::string_view message,
                            std::string_view before) {
  const size_t at = message.find(before);
  if (at == std::string_view::npos) return nullptr;
  message.remove_prefix(at + before.size());
  const std::string_view name = message.substr(0, message.find_first_of(":= ,"));
  for (const CLI::App* command = &LastCommand(app); command != nullptr;
       command = command->get_parent()) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_name() == name) return option;
    }
  }
  return nullptr;
}

// Reads "--a requires --b" and "--a excludes --b", with other words between the names.
std::string Related(std::string_view message, std::string_view verb, std::string_view format) {
  const size_t at = message.find(verb);
  if (at == std::string_view::npos) return std::string(message);
  return fmt::format(fmt::runtime(format), message.substr(0, at), message.substr(at + verb.size()));
}

std::string MissingValue(const CLI::App& app, const std::string& message) {
  const CLI::Option* option = OptionIn(app, message, "");
  if (option == nullptr) return message;
  const AllowedValues allowed = AllowedValuesOf(*option);
  const std::string described = Described(allowed);
  return fmt::format("{}: its value is missing{}", option->get_name(),
                     described.empty() ? "" : ", " + described);
}

}  // namespace

std::string CommandLineFault(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return Leftover(app, false);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const bool no_command = message.find("subcommand") != std::string::npos;
    return no_command ? Leftover(app, true) : message;
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    return Related(message, " excludes ", "{} and {} cannot be given together");
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
    return Related(message, " requires ", "{} needs {}");
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return MissingValue(app, message);
  }
  const bool conversion = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
  const CLI::Option* option = OptionIn(app, message, conversion ? "Could not convert: " : "");
  const std::string wrong = option == nullptr ? "" : WrongValueOf(*option);
  return wrong.empty() ? message : wrong;
}

}  // namespace freshet
