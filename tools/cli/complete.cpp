#include "tools/cli/complete.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "core/base/error.h"

namespace nanobench::tools {
namespace {

/// The words before the one that is typed, as the parser will take them.
class TypedWords {
 public:
  TypedWords(CLI::App& app, const std::vector<std::string>& words) : level_(&app), line_{.program = &app} {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) take(words[i]);
  }

  CLI::App& level() const { return *level_; }
  const TypedLine& line() const { return line_; }
  bool has_only_positionals() const { return has_only_positionals_; }
  bool was_used(const CLI::Option* option) const { return used_.contains(option); }
  /// The option whose value comes next.
  const CLI::Option* open_option() const { return values_left_ > 0 ? option_ : nullptr; }
  /// Whether the open option can do without a further value.
  bool is_open_option_satisfied() const { return values_taken_ > 0; }

  /// The positional argument that comes next; null if there is none.
  const CLI::Option* next_positional() const {
    int before = 0;
    for (const CLI::Option* option : level_->get_options()) {
      if (!option->get_positional()) continue;
      before += option->get_items_expected_max();
      if (positionals_ < before) return option;
    }
    return nullptr;
  }

 private:
  void take(const std::string& word) {
    const bool is_option = !has_only_positionals_ && word.size() > 1 && word[0] == '-';
    if (is_option && word == "--") {
      has_only_positionals_ = true;
      values_left_ = 0;
    } else if (is_option) {
      take_option(word);
    } else if (values_left_ > 0) {
      take_value(word);
    } else {
      take_argument(word);
    }
  }

  void take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    option_ = level_->get_option_no_throw(word.substr(0, equals));
    values_left_ = values_taken_ = 0;
    if (option_ == nullptr) return;
    used_.insert(option_);
    // The parser gives a vector everything up to the next option, unless each value needs the option's name.
    const bool is_greedy = option_->get_allow_extra_args();
    values_left_ = is_greedy ? option_->get_items_expected_max() : std::min(option_->get_items_expected_max(), 1);
    if (equals != std::string::npos) take_value(word.substr(equals + 1));
  }

  void take_value(const std::string& word) {
    line_.values[option_->get_lnames().empty() ? "" : "--" + option_->get_lnames().front()] = word;
    --values_left_;
    ++values_taken_;
  }

  void take_argument(const std::string& word) {
    CLI::App* command = positionals_ == 0 ? subcommand_of(*level_, word) : nullptr;
    if (command == nullptr) {
      ++positionals_;
      return;
    }
    level_ = command;
    line_.command += (line_.command.empty() ? "" : " ") + word;
  }

  CLI::App* level_;
  TypedLine line_;
  bool has_only_positionals_ = false;
  std::set<const CLI::Option*> used_;
  const CLI::Option* option_ = nullptr;
  int values_left_ = 0;
  int values_taken_ = 0;
  int positionals_ = 0;
};

void add_commands(Completion& completion, CLI::App& level, bool has_launcher) {
  for (const CLI::App* command : level.get_subcommands(nullptr)) {
    completion.candidates.push_back({command->get_name(), command->get_description()});
  }
  if (!has_launcher || level.get_parent() != nullptr) return;
  for (const std::string& name : launcher_commands()) completion.candidates.push_back({name, ""});
}

void add_options(Completion& completion, const TypedWords& typed) {
  for (const CLI::Option* option : typed.level().get_options()) {
    const bool is_repeatable =
        option->get_items_expected_max() > 1 || option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (typed.was_used(option) && !is_repeatable) continue;
    for (const std::string& name : option->get_lnames()) {
      completion.candidates.push_back({"--" + name, option->get_description()});
    }
  }
}

/// Values of the option, behind `before` ("--scale=").
void add_values(Completion& completion, const CLI::Option& option, const TypedWords& typed, const std::string& before,
                const std::string& text) {
  Completion values = values_of(option, typed.line(), text);
  completion.files = values.files;
  for (Candidate& value : values.candidates) {
    completion.candidates.push_back({before + value.word, std::move(value.meaning)});
  }
}

void keep_matching(Completion& completion, const std::string& text) {
  std::set<std::string> seen;
  std::erase_if(completion.candidates, [&](const Candidate& candidate) {
    return !candidate.word.starts_with(text) || !seen.insert(candidate.word).second;
  });
}

bool is_on_one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

const std::vector<std::string>& launcher_commands() {
  static const std::vector<std::string> kNames = {"setup", "test", "bundle", "wheel", "deb"};
  return kNames;
}

CLI::App* subcommand_of(CLI::App& level, const std::string& name) {
  const auto named = level.get_subcommands([&](CLI::App* command) { return command->get_name() == name; });
  return named.empty() ? nullptr : named.front();
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

Completion complete(CLI::App& app, const std::vector<std::string>& words, bool has_launcher) {
  Completion completion;
  const TypedWords typed(app, words);
  const std::string text = words.empty() ? "" : words.back();
  const bool is_option = !typed.has_only_positionals() && text.starts_with('-');
  const std::size_t equals = is_option ? text.find('=') : std::string::npos;
  if (equals != std::string::npos) {
    const CLI::Option* option = typed.level().get_option_no_throw(text.substr(0, equals));
    if (option != nullptr && takes_value(*option))
      add_values(completion, *option, typed, text.substr(0, equals + 1), text.substr(equals + 1));
  } else if (is_option) {
    add_options(completion, typed);
  } else if (const CLI::Option* open = typed.open_option()) {
    add_values(completion, *open, typed, "", text);
    if (text.empty() && typed.is_open_option_satisfied()) add_options(completion, typed);
  } else {
    add_commands(completion, typed.level(), has_launcher);
    const CLI::Option* argument = typed.next_positional();
    if (argument != nullptr) add_values(completion, *argument, typed, "", text);
    const bool has_nothing = completion.candidates.empty() && completion.files == Completion::Files::kNone;
    if (has_nothing && !typed.has_only_positionals()) add_options(completion, typed);
  }
  keep_matching(completion, text);
  return completion;
}

int complete_main(CLI::App& app, const std::vector<std::string>& arguments) {
  const bool has_launcher = !arguments.empty() && arguments.front() == "--launcher";
  const Completion completion =
      complete(app, {arguments.begin() + (has_launcher ? 1 : 0), arguments.end()}, has_launcher);
  std::cout << enum_name(completion.files) << "\n";
  for (const Candidate& candidate : completion.candidates) {
    if (!is_on_one_line(candidate.word)) continue;
    std::cout << candidate.word << "\t" << (is_on_one_line(candidate.meaning) ? candidate.meaning : "") << "\n";
  }
  return core::kExitSuccess;
}

}  // namespace nanobench::tools
