#include "tools/common/command_help.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tools/common/allowed_values.h"

namespace freshet {
namespace {

// Thread-compatible.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
    label("SUBCOMMANDS", "COMMANDS");
  }

  // CLI11 shows the value of --no-json as "{false}"; this leaves it out.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));
  }

  // Returns for example "N ... (0 to 3600; default 5; or FRESHET_TIMEOUT)".
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    std::vector<std::string> notes;
    if (option->get_items_expected_max() > 0) {
      const AllowedValues allowed = AllowedValuesOf(*option);
      text = allowed.choices.empty() ? " " + allowed.kind
                                     : fmt::format(" {{{}}}", fmt::join(allowed.choices, ","));
      if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
      if (!allowed.low.empty()) notes.push_back(fmt::format("{} to {}", allowed.low, allowed.high));
      if (!option->get_default_str().empty()) notes.push_back("default " + Default(*option));
      if (option->get_required()) notes.emplace_back("required");
    }
    if (!option->get_envname().empty()) notes.push_back("or " + option->get_envname());
    if (!notes.empty()) text += fmt::format(" ({})", fmt::join(notes, "; "));
    return text;
  }

 private:
  // Returns the default value. In a list of defaults, removes the brackets and adds spaces, where
  // lines can break.
  static std::string Default(const CLI::Option& option) {
    std::string text = option.get_default_str();
    if (!text.starts_with('[') || !text.ends_with(']')) return text;
    text = text.substr(1, text.size() - 2);
    for (size_t at = 0; (at = text.find(',', at)) != std::string::npos; at += 2) {
      text.insert(at + 1, " ");
    }
    return text;
  }
};

void FinishBelow(CLI::App& app, const std::string& path, std::span<const CommandExample> examples,
                 const std::string& footer, const std::shared_ptr<HelpFormatter>& formatter) {
  app.formatter(formatter);
  if (app.get_help_ptr() != nullptr) app.get_help_ptr()->description("Show this help");
  if (app.get_version_ptr() != nullptr) app.get_version_ptr()->description("Show the version");
  const auto* it = std::find_if(examples.data(), examples.data() + examples.size(),
                                [&path](const CommandExample& one) { return one.command == path; });
  const bool none = it == examples.data() + examples.size();
  app.footer(none
                 ? footer
                 : fmt::format("Examples:\n{}{}{}", it->lines, footer.empty() ? "" : "\n", footer));
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (command->get_group() == "Subcommands") command->group("Commands");
    FinishBelow(*command, path + " " + command->get_name(), examples, footer, formatter);
  }
}

}  // namespace

void FinishHelp(CLI::App& app, std::span<const CommandExample> examples,
                const std::string& footer) {
  FinishBelow(app, app.get_name(), examples, footer, std::make_shared<HelpFormatter>());
}

}  // namespace freshet
