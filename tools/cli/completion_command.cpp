// `nanobench completion SHELL`: a script that asks `nanobench complete` what may be typed next.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "core/base/json.h"
#include "tools/cli/program.h"

namespace nanobench::tools {
namespace {

constexpr const char* kCompletionFooter =
    "Examples:\n"
    "  source <(nanobench completion bash)       for this shell; in ~/.bashrc, for every one\n"
    "  source <(nanobench completion zsh)        the same, after compinit in ~/.zshrc\n"
    "  nanobench completion fish | source        for this shell\n"
    "  nanobench completion fish >~/.config/fish/completions/nanobench.fish\n"
    "\n"
    "./nanobench is completed as well as nanobench. Candidates come from the program, the catalogue and the store.";

// Bash splits words at '=' and ':', and replaces only what follows the last of them.
constexpr const char* kBashScript = R"script(# Completion of nanobench for bash.
_nanobench() {
  local line=${COMP_LINE:0:COMP_POINT} program=${COMP_WORDS[0]} word i
  local -a typed=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    local rest=${line#"${line%%[![:space:]]*}"}
    if ((i == COMP_CWORD)); then word=$rest; fi
    if ((i > 0)) && [[ $rest == "$line" ]]; then
      typed[${#typed[@]} - 1]+=$word
    else
      typed+=("$word")
    fi
    line=${rest#"$word"}
  done

  # What the shell would make of the words, without running anything in them.
  local current=${typed[${#typed[@]} - 1]} quote=
  if [[ $current == [\'\"]* ]]; then quote=${current:0:1}; fi
  for i in "${!typed[@]}"; do typed[i]=${typed[i]//[\\\"\']/}; done
  current=${typed[${#typed[@]} - 1]}
  if [[ $program == '~/'* ]]; then program=$HOME/${program:2}; fi
  if ! type "$program" >/dev/null 2>&1; then program=nanobench; fi

  local breaks='' head=''
  if [[ $COMP_WORDBREAKS == *=* ]]; then breaks+='='; fi
  if [[ $COMP_WORDBREAKS == *:* ]]; then breaks+=':'; fi
  if [[ -n $breaks ]]; then head=${current%"${current##*[$breaks]}"}; fi

  local kind candidate meaning
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS=$'\t' read -r candidate meaning; do
      if [[ $candidate == *[=:,] ]]; then compopt -o nospace 2>/dev/null; fi
      candidate=${candidate#"$head"}
      if [[ -z $quote && $candidate == *[!A-Za-z0-9_.,:=/+@%-]* ]]; then printf -v candidate %q "$candidate"; fi
      COMPREPLY+=("$candidate")
    done
  } < <("$program" complete "${typed[@]:1}" 2>/dev/null)
  case $kind in
    files) while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "${current#"$head"}") ;;
    folders) while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -d -- "${current#"$head"}") ;;
  esac
  if [[ $kind == files || $kind == folders ]]; then compopt -o filenames 2>/dev/null; fi
}
complete -F _nanobench nanobench
)script";

constexpr const char* kZshScript = R"script(#compdef nanobench
# Completion of nanobench for zsh.
_nanobench() {
  local program=${(Q)words[1]} line word kind
  program=${~program}
  (( $+commands[$program] )) || [[ -x $program ]] || program=nanobench
  local -a lines whole whole_texts open open_texts
  lines=("${(@f)$("$program" complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  kind=$lines[1]
  for line in "${(@)lines[2,-1]}"; do
    word=${line%%$'\t'*}
    [[ -n $word ]] || continue
    if [[ $word == *[=:,] ]]; then
      open+=("$word") open_texts+=("$word  ${line#*$'\t'}")
    else
      whole+=("$word") whole_texts+=("$word  ${line#*$'\t'}")
    fi
  done
  local result=1
  (( $#whole )) && compadd -l -d whole_texts -a whole && result=0
  (( $#open )) && compadd -S '' -l -d open_texts -a open && result=0
  if [[ $kind == (files|folders) ]]; then
    compset -P '*[=:]'
    if [[ $kind == files ]]; then _files && result=0; else _files -/ && result=0; fi
  fi
  return result
}
if [[ $funcstack[1] == _nanobench ]]; then _nanobench "$@"; else compdef _nanobench nanobench; fi
)script";

constexpr const char* kFishScript = R"script(# Completion of nanobench for fish.
function __nanobench_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~(?=/)' -- $HOME $words[1])
    type -q -- $program; or set program nanobench
    set -e words[1]
    set -l lines ($program complete $words "$current" 2>/dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    test (count $lines) -gt 0; and printf '%s\n' $lines
    set -l head (string match -r -- '^.*[=:]' "$current")
    set -l name (string replace -r -- '^.*[=:]' '' "$current")
    switch "$kind"
        case files
            for file in (__fish_complete_path "$name")
                printf '%s%s\n' "$head" $file
            end
        case folders
            for file in (__fish_complete_directories "$name")
                printf '%s%s\n' "$head" $file
            end
    end
end
complete -c nanobench -f -a '(__nanobench_complete)'
)script";

struct ShellScript {
  const char* shell;
  const char* text;
};
constexpr ShellScript kScripts[] = {{"bash", kBashScript}, {"zsh", kZshScript}, {"fish", kFishScript}};

void print_script(const std::string& shell) {
  std::vector<std::string> known;
  for (const ShellScript& script : kScripts) {
    if (shell == script.shell) {
      std::cout << script.text;
      return;
    }
    known.emplace_back(script.shell);
  }
  throw core::Error(core::ErrorCode::kInvalidArgument,
                    "completion " + shell + ": expected bash, zsh or fish" + core::suggestion(shell, known));
}

}  // namespace

void add_completion_command(CLI::App& app, Session& /*session*/) {
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands in bash, zsh or fish");
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command->footer(kCompletionFooter);
  command->callback([shell] { print_script(*shell); });
}

}  // namespace nanobench::tools
