/** Coding agents from npm, as their users run them: only their settings say that there is a connector. */

export interface Agent {
  readonly name: string
  /** What npm installs. */
  readonly spec: string
  readonly command: string
  readonly args: (task: string) => ReadonlyArray<string>
  /** What a user of the connector at `url` writes down, by its path in the home folder. */
  readonly files: (url: string) => Readonly<Record<string, string>>
  readonly env: (url: string) => Readonly<Record<string, string>>
  /** The path that its turns are asked at. */
  readonly path: string
}

/** What an agent that demands a key is given. It must get nowhere. */
export const UNUSED_KEY = "unused-key-4711"

const codexSettings = (url: string): string => `model = "gpt-x"
model_provider = "sealgate"

[model_providers.sealgate]
name = "sealgate"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
`

const opencodeSettings = (url: string): string =>
  JSON.stringify({
    model: "anthropic/claude-x",
    autoupdate: false,
    enabled_providers: ["anthropic"],
    provider: {
      anthropic: {
        options: { baseURL: `${url}/v1`, apiKey: UNUSED_KEY },
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
    files: (url) => ({ ".codex/config.toml": codexSettings(url) }),
    env: () => ({ OPENAI_API_KEY: UNUSED_KEY }),
    path: "/v1/responses",
  },
  {
    name: "Claude Code",
    spec: "@anthropic-ai/claude-code@2.1.330",
    command: "claude",
    args: (task) => ["-p", task, "--model", "claude-x", "--allowedTools", "Bash"],
    files: () => ({}),
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: UNUSED_KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    path: "/v1/messages",
  },
  {
    name: "opencode",
    spec: "opencode-ai@1.18.33",
    command: "opencode",
    args: (task) => ["run", "--auto", task],
    files: (url) => ({ ".config/opencode/opencode.json": opencodeSettings(url) }),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" }),
    path: "/v1/messages",
  },
]
