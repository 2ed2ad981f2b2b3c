/** Coding agents from npm, as their users run them: only their settings name the server. */

/** The server that an agent asks instead of its vendor. */
export interface Place {
  readonly name: string
  readonly url: string
  /** The key that the agent sends. No provider may see it. */
  readonly key: string
}

export interface Agent {
  readonly name: string
  /** The packages that npm installs. */
  readonly spec: string
  readonly command: string
  readonly args: (task: string) => ReadonlyArray<string>
  /** The settings that a user writes, by path in the home folder. */
  readonly files: (place: Place) => Readonly<Record<string, string>>
  readonly env: (place: Place) => Readonly<Record<string, string>>
  /** The path that its turns are asked at. */
  readonly path: string
}

// The vendor's search is off, because a key with a budget may not use tools of unknown cost.
const codexSettings = ({ url }: Place): string => `model = "gpt-x"
web_search = "disabled"
model_provider = "sealgate"

[model_providers.sealgate]
name = "sealgate"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
`

const opencodeSettings = ({ key, url }: Place): string =>
  JSON.stringify({
    model: "anthropic/claude-x",
    autoupdate: false,
    enabled_providers: ["anthropic"],
    provider: {
      anthropic: {
        options: { baseURL: `${url}/v1`, apiKey: key },
        models: { "claude-x": { name: "claude-x", tool_call: true } },
      },
    },
  })

export const AGENTS: ReadonlyArray<Agent> = [
  {
    name: "Codex CLI",
    spec: "@openai/codex@0.169.0",
    command: "codex",
    // It runs in a folder of its own, in which it may do what it likes.
    args: (task) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", task],
    files: (place) => ({ ".codex/config.toml": codexSettings(place) }),
    env: ({ key }) => ({ OPENAI_API_KEY: key }),
    path: "/v1/responses",
  },
  {
    name: "Claude Code",
    spec: "@anthropic-ai/claude-code@2.1.330",
    command: "claude",
    args: (task) => ["-p", task, "--model", "claude-x", "--allowedTools", "Bash"],
    files: () => ({}),
    env: ({ key, url }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    path: "/v1/messages",
  },
  {
    name: "opencode",
    spec: "opencode-ai@1.18.33",
    command: "opencode",
    args: (task) => ["run", "--auto", task],
    files: (place) => ({ ".config/opencode/opencode.json": opencodeSettings(place) }),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" }),
    path: "/v1/messages",
  },
]
