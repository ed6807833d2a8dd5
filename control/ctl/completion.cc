#include "control/ctl/completion.h"

namespace cw::ctl {

std::string completion_of(const std::string& shell, const std::vector<std::string>& commands) {
  std::string words;
  for (const std::string& each : commands) words += each + " ";
  const std::string options = "--config --socket --url --certificate --key --ca --json --help";
  std::string script = shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
  script += R"(_causewayctl() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} each
  case $before in
    --config|--socket|--certificate|--key|--ca|--output)
      COMPREPLY=($(compgen -f -- "$word")); return;;
    --side) COMPREPLY=($(compgen -W "lan wan both" -- "$word")); return;;
    --direction) COMPREPLY=($(compgen -W "out in both" -- "$word")); return;;
    completion) COMPREPLY=($(compgen -W "bash zsh" -- "$word")); return;;
  esac
  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $each in
      swap)
        COMPREPLY=($(compgen -W "--peer --direction --guard --wait --json" -- "$word")); return;;
      reload) COMPREPLY=($(compgen -W "--wait --links-later --json" -- "$word")); return;;
      top) COMPREPLY=($(compgen -W "--rounds --json" -- "$word")); return;;
      flows) COMPREPLY=($(compgen -W "--seconds --json" -- "$word")); return;;
      capture)
        COMPREPLY=($(compgen -W "--seconds --packets --side --peer --output --json" -- "$word"))
        return;;
      bundle) COMPREPLY=($(compgen -W "--output --json" -- "$word")); return;;
    esac
  done
)";
  script += "  COMPREPLY=($(compgen -W \"" + words + "completion " + options +
            "\" -- \"$word\"))\n}\ncomplete -F _causewayctl causewayctl\n";
  return script;
}

}  // namespace cw::ctl
