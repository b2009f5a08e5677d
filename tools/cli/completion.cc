#include "tools/cli/completion.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/cli/commands.h"

namespace freshet::cli {
namespace {

// A word that can be completed, and a short description of it.
struct Word {
  std::string text;
  std::string help;
};

// The words that may follow a command. The path names the command: ` crawls set`, or nothing for
// the program itself.
struct Place {
  std::string path;
  std::vector<Word> words;                                  // commands, or values of an argument
  std::vector<Word> options;                                // including those of the commands above
  std::vector<std::string> valued;                          // options that take a value
  std::vector<std::pair<std::string, std::string>> values;  // fixed values by option
};

// Returns the values that an option's checks name, separated by spaces; empty if any value is
// allowed.
std::string FixedValues(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return absl::StrJoin(absl::StrSplit(type.substr(begin + 1, end - begin - 1), ','), " ");
}

void AddOption(const CLI::Option& option, Place& place) {
  const std::string values = FixedValues(option);
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : names) {
    place.options.push_back({name, option.get_description()});
    if (option.get_items_expected_max() == 0) continue;
    place.valued.push_back(name);
    if (!values.empty()) place.values.emplace_back(name, values);
  }
  if (!option.get_positional() || values.empty()) return;
  for (const absl::string_view value : absl::StrSplit(values, ' ')) {
    place.words.push_back({std::string(value), option.get_description()});
  }
}

void AddPlaces(const CLI::App& app, Place place, std::vector<Place>& places) {
  place.words.clear();
  for (const CLI::Option* option : app.get_options()) {
    // Every command has the same help option: list it once.
    if (option == app.get_help_ptr() && !place.path.empty()) continue;
    AddOption(*option, place);
  }
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) {
    place.words.push_back({command->get_name(), command->get_description()});
  }
  places.push_back(place);
  for (const CLI::App* command : commands) {
    Place below = place;
    below.path += " " + command->get_name();
    AddPlaces(*command, std::move(below), places);
  }
}

std::vector<Place> PlacesOf(const CLI::App& app) {
  std::vector<Place> places;
  AddPlaces(app, {}, places);
  return places;
}

// Quotes text as one word of a shell.
std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Names(const std::vector<Word>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const Word& word) { *out += word.text; });
}

// Returns `'name:purpose'` lines in the form of zsh.
std::string Described(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += "\n        " + Quote(word.text + ":" + word.help);
  return text;
}

// Returns shell cases of `path:option` with the fixed values of options.
std::string ValueCases(const std::vector<Place>& places, std::string_view open,
                       std::string_view close) {
  std::string text;
  for (const Place& place : places) {
    for (const auto& [option, values] : place.values) {
      text += fmt::format("    {}) values={}{}{} ;;\n", Quote(place.path + ":" + option), open,
                          values, close);
    }
  }
  return text;
}

constexpr const char* kBashHead =
    R"(# Completion of freshet for bash, as `freshet completion bash` prints it.

# Sets words, options and valued to what may follow the commands of $1.
_freshet_at() {
  words='' options='' valued=''
  case $1 in
)";

constexpr const char* kBashMiddle = R"(  esac
}

# Sets values to those that option $2 of the commands $1 may have, if they are known.
_freshet_values() {
  values=''
  case $1:$2 in
)";

constexpr const char* kBashTail = R"(    *) ;;
  esac
}

_freshet() {
  local cur=${COMP_WORDS[COMP_CWORD]} at='' option='' word i words options valued values
  COMPREPLY=()
  _freshet_at "$at"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    option=''
    if [[ " $valued " == *" $word "* ]]; then
      option=$word
      ((i++))
      # --option=value is three words to bash.
      [[ ${COMP_WORDS[i]} != = ]] || ((i++))
    elif [[ $word != -* && " $words " == *" $word "* ]]; then
      at="$at $word"
      _freshet_at "$at"
    fi
  done
  if [[ -n $option ]] && ((i > COMP_CWORD)); then
    [[ $cur != = ]] || cur=''
    _freshet_values "$at" "$option"
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}

complete -o bashdefault -o default -F _freshet freshet
)";

constexpr const char* kZshHead = R"(#compdef freshet
# Completion of freshet for zsh, as `freshet completion zsh` prints it.

# Sets names, options and valued to what may follow the commands of $1.
_freshet_at() {
  names=() options=() valued=()
  case $1 in
)";

constexpr const char* kZshMiddle = R"(  esac
}

# Sets values to those that option $2 of the commands $1 may have, if they are known.
_freshet_values() {
  values=()
  case $1:$2 in
)";

constexpr const char* kZshTail = R"(  esac
}

_freshet() {
  local at='' option='' word i
  local -a names options valued values
  _freshet_at "$at"
  for ((i = 2; i < CURRENT; i++)); do
    word=${words[i]}
    option=''
    if (( ${valued[(Ie)$word]} )); then
      option=$word
      ((i++))
    elif [[ $word != -* ]] && (( ${names[(I)${(b)word}:*]} )); then
      at="$at $word"
      _freshet_at "$at"
    fi
  done
  if (( i <= CURRENT )); then
    option=''
  fi
  if [[ ${words[CURRENT]} == --*=* ]]; then
    option=${words[CURRENT]%%=*}
    compset -P '*='
  fi
  if [[ -n $option ]]; then
    _freshet_values "$at" "$option"
    if (( $#values )); then compadd -a values; else _files; fi
  elif [[ ${words[CURRENT]} == -* ]]; then
    _describe -o option options
  elif (( $#names )); then
    _describe command names
  else
    _files
  fi
}

if [[ ${funcstack[1]} == _freshet ]]; then _freshet "$@"; else compdef _freshet freshet; fi
)";

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  const std::vector<Place> places = PlacesOf(app);
  std::string script = kBashHead;
  for (const Place& place : places) {
    script += fmt::format("    {}) words={} options={} valued={} ;;\n", Quote(place.path),
                          Quote(Names(place.words)), Quote(Names(place.options)),
                          Quote(absl::StrJoin(place.valued, " ")));
  }
  return script + kBashMiddle + ValueCases(places, "'", "'") + kBashTail;
}

std::string ZshCompletion(const CLI::App& app) {
  const std::vector<Place> places = PlacesOf(app);
  std::string script = kZshHead;
  for (const Place& place : places) {
    script +=
        fmt::format("    ({})\n      names=({})\n      options=({})\n      valued=({})\n      ;;\n",
                    Quote(place.path), Described(place.words), Described(place.options),
                    absl::StrJoin(place.valued, " "));
  }
  return script + kZshMiddle + ValueCases(places, "(", ")") + kZshTail;
}

CLI::Validator Suggest(const std::string& values) {
  return CLI::Validator([](std::string&) { return std::string(); }, values);
}

void AddCompletionCommand(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("completion", "Print a completion script for a shell");
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh"}));
  command->callback([shell, &app, &action] {
    action = [shell, &app](Session& session) {
      session.out() << (*shell == "bash" ? BashCompletion(app) : ZshCompletion(app));
      return kAccepted;
    };
  });
}

}  // namespace freshet::cli
