#!/usr/bin/env bash
# Seals any program with a configurable base URL. Start `sealgate connect` first.
set -euo pipefail
base="${OPENAI_BASE_URL:-http://127.0.0.1:8787/v1}"

curl -sS --fail-with-body "$base/models"
echo

curl -sS --fail-with-body "$base/chat/completions" -H 'content-type: application/json' \
  -d '{"messages": [{"role": "user", "content": "Hello"}]}'
echo

curl -sS --fail-with-body --no-buffer "$base/chat/completions" -H 'content-type: application/json' \
  -d '{"messages": [{"role": "user", "content": "Hello, in pieces"}], "stream": true}'
