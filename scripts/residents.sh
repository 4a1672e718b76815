#!/usr/bin/env bash
# Agents of others that speak the Agent Client Protocol, to try the runner with. Each works against a model server that is
# given to it, with a home folder of its own, and with no key.
#   scripts/residents.sh install quick|more          install a set (again only if its versions changed), below the target folder
#   scripts/residents.sh agent NAME URL HOME         be that agent, on stdio; URL is the model server's, HOME a folder
#   scripts/residents.sh test [NAME…]                try these, or all: they answer, and ask through Warren's inbox
# quick: goose, codex (in make test). more: claude, opencode, qwen, copilot, gemini (in make test-residents). Gemini CLI is
# not tried unless it is named: it speaks its own wire, which the scripted model server does not serve.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
case "$target" in /*) ;; *) target=$root/$target ;; esac

say() { echo "residents: $*" >&2; }

usage() {
  sed -n '2,8s/^# \{0,1\}//p' scripts/residents.sh >&2
  exit 2
}

set_of() {
  case "$1" in
    goose | codex) echo quick ;;
    claude | gemini | opencode | qwen | copilot) echo more ;;
    *) usage ;;
  esac
}

install() {
  local from=scripts/resident-peers/$1 place=$target/resident-peers/$1 sum
  if [ ! -f "$from/package.json" ]; then usage; fi
  mkdir -p "$place"
  # Tests run at once, and only one of them installs.
  exec 9>"$place/lock"
  flock 9
  sum=$(cat "$from/package.json" "$from/package-lock.json" | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$place/done" 2>/dev/null)" != "$sum" ]; then
    command -v npm >/dev/null || { say "npm is missing: install the Debian package npm" && exit 1; }
    say "installing the $1 ones"
    rm -rf "$place/node" "$place/done"
    mkdir "$place/node"
    cp "$from/package.json" "$from/package-lock.json" "$place/node"
    # Some of them ask for a newer Node than npm itself runs on; they are given one when they are run.
    npm --prefix "$place/node" install --no-save --no-audit --no-fund --loglevel=error >&2
    printf '%s' "$sum" >"$place/done"
  fi
  exec 9>&-
}

agent() {
  local name=$1 url=$2 home=$3 suite node
  suite=$(set_of "$name")
  install "$suite"
  node=$(scripts/conformance.sh node)
  local packages=$target/resident-peers/$suite/node/node_modules
  local bin=$packages/.bin
  mkdir -p "$home"
  # The agent works where it was started, and finds the newer Node first.
  cd "$from"
  local base=(env -i "HOME=$home" "PATH=$(dirname "$node"):/usr/bin:/bin" "LANG=C.UTF-8" "XDG_CONFIG_HOME=$home/.config")
  case "$name" in
    goose)
      exec "${base[@]}" GOOSE_PROVIDER=openai OPENAI_HOST="$url" OPENAI_API_KEY=none GOOSE_MODEL=scripted \
        GOOSE_MODE=approve GOOSE_DISABLE_KEYRING=1 "$bin/goose" acp
      ;;
    codex)
      mkdir -p "$home/codex"
      cat >"$home/codex/config.toml" <<TOML
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "$url/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
TOML
      exec "${base[@]}" CODEX_HOME="$home/codex" SCRIPTED_KEY=none "$node" "$packages/@agentclientprotocol/codex-acp/dist/index.js"
      ;;
    claude)
      exec "${base[@]}" ANTHROPIC_BASE_URL="$url" ANTHROPIC_API_KEY=none ANTHROPIC_MODEL=scripted \
        CLAUDE_CONFIG_DIR="$home/claude" CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
        "$node" "$packages/@agentclientprotocol/claude-agent-acp/dist/index.js"
      ;;
    gemini)
      mkdir -p "$home/.gemini"
      echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}}' >"$home/.gemini/settings.json"
      exec "${base[@]}" GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL="$url" "$node" "$bin/gemini" --acp -m gemini-2.5-flash
      ;;
    opencode)
      mkdir -p "$home/.config/opencode"
      cat >"$home/.config/opencode/opencode.json" <<JSON
{"model": "scripted/scripted", "permission": {"bash": "ask", "edit": "ask"}, "autoupdate": false,
 "provider": {"scripted": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "$url/v1", "apiKey": "none"},
 "models": {"scripted": {"name": "scripted"}}}}}
JSON
      exec "${base[@]}" OPENCODE_DISABLE_MODELS_FETCH=1 "$bin/opencode" acp
      ;;
    qwen)
      exec "${base[@]}" OPENAI_BASE_URL="$url/v1" OPENAI_API_KEY=none OPENAI_MODEL=scripted \
        "$node" "$bin/qwen" --acp --approval-mode default --auth-type openai
      ;;
    copilot)
      exec "${base[@]}" COPILOT_PROVIDER_BASE_URL="$url/v1" COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_API_KEY=none \
        COPILOT_MODEL=scripted COPILOT_OFFLINE=true "$node" "$bin/copilot" --acp
      ;;
  esac
}

# One by one, so that one that fails hides no other.
try() {
  local name verdict=0 failed=()
  if [ $# -eq 0 ]; then set -- goose codex claude opencode qwen copilot; fi
  install quick
  install more
  cargo build --locked --workspace --tests --bins
  for name in "$@"; do
    if WARREN_TEST_RESIDENTS=$name cargo nextest run --locked --workspace --retries 0 --no-capture \
      -E 'package(warren-cli) & test(=resident_agents::those_that_are_named_answer_and_ask_through_the_inbox)'; then
      say "$name: well"
    else
      say "$name: failed"
      failed+=("$name") verdict=1
    fi
  done
  say "$(($# - ${#failed[@]})) of $# are well${failed[*]:+; not: ${failed[*]}}"
  exit "$verdict"
}

from=${OLDPWD:-$root}
case "${1:-}" in
  install) install "${2:-}" ;;
  test) try "${@:2}" ;;
  agent)
    if [ $# -ne 4 ]; then usage; fi
    agent "$2" "$3" "$4"
    ;;
  *) usage ;;
esac
