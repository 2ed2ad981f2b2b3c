/** Runs the programs and commands of the documentation, and checks its other fenced blocks. */
import { execFile, spawnSync } from "node:child_process"
import { chmodSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { gatewaySettings } from "../../src/layers/config/gatewaySettings.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { startConnector } from "../support/connector.ts"
import { databaseUrl, call, SECRET, startGateway, tokenFor } from "../support/gateway.ts"
import { freePort } from "../support/freePort.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { NOT_RUN, PROGRAMS, SHOWN, type Snippet, snippets } from "./snippets.ts"

const COMMAND = resolve("dist/cli/main.js")
const COMPILED = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "" }
const of = (language: string) => snippets.filter((snippet) => snippet.language === language)

/** Stand-ins for the reader's commands: those that install, serve or build are only looked up. */
const SHIMS = {
  sealgate: `case "$1" in
  proxy|gateway|connect) exec "$NODE" "$COMMAND" "$1" --help >/dev/null ;;
  *) exec "$NODE" "$COMMAND" "$@" ;;
esac`,
  npx: `shift; exec sealgate "$@"`,
  npm: `case "$1 $2" in
  "ci "|"test ") exit 0 ;;
  "run -s") shift 4; exec sealgate "$@" ;;
  "run "*) "$NODE" -e 'process.exit(process.argv[2] in JSON.parse(fs.readFileSync(process.argv[1])).scripts ? 0 : 1)' "$PACKAGE" "$2" ;;
  *) echo "npm $* is not known to this test" >&2; exit 1 ;;
esac`,
}

interface Servers {
  /** Replaces example addresses and secrets by those of the servers under test. */
  readonly fill: (text: string) => string
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
}
const Servers = Context.Service<Servers>("test/docs/snippets/Servers")

const layerServers = Layer.effect(
  Servers,
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const sealed = { baseUrl: proxy.url, pins: [proxy.kid] }
    const connector = yield* startConnector({ sealed })
    const providers = { PROVIDER1_BASE_URL: proxy.url, PROVIDER1_SEALED_PIN: proxy.kid, PROVIDER1_API_KEY: "none" }
    const secrets = { SECRETS_KEY: Buffer.alloc(32, 1).toString("base64") }
    const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), secrets)
    const behind = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), providers, "configured")
    const token = yield* tokenFor("alice", { roles: ["admin"] })
    const made = Effect.fnUntraced(function* (url: string) {
      const { json: agent } = yield* call({ url }, "POST", "/api/v1/agents", { token, body: { name: "a" } })
      const path = `/api/v1/agents/${String(agent["id"])}/execute`
      const { json: job } = yield* call({ url }, "POST", path, {
        token,
        body: { task: "x", mode: "verified", options: { samples: 1 } },
      })
      yield* call({ url }, "GET", `/api/v1/jobs/${String(job["id"])}?wait=30`, { token })
      return { agent: String(agent["id"]), job: String(job["id"]) }
    })
    const { agent, job } = yield* made(gateway.url)
    const receipted = yield* made(behind.url)
    const folder = yield* temporaryFolder
    for (const [name, script] of Object.entries(SHIMS)) {
      writeFileSync(join(folder, name), `#!/usr/bin/env bash\nset -e\n${script}\n`)
      chmodSync(join(folder, name), 0o755)
    }
    writeFileSync(join(folder, "token.txt"), "a-token-of-a-tool")
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"))
    const pinned = /GjmH…|<the pin the proxy printed>|<kid of the server's key>/g
    return {
      folder,
      fill: (text) =>
        text
          .replaceAll(/\$GATEWAY\/api\/v1\/jobs\/\$JOB/g, `${behind.url}/api/v1/jobs/${receipted.job}`)
          .replaceAll(/http:\/\/localhost:3001|https:\/\/proxy\.example\.com/g, proxy.url)
          .replaceAll(/http:\/\/(localhost|127\.0\.0\.1):3000/g, gateway.url)
          .replaceAll("http://127.0.0.1:8787", connector.url)
          .replaceAll(pinned, proxy.kid)
          .replaceAll("SEALGATE_PIN=…", `SEALGATE_PIN=${proxy.kid}`)
          .replaceAll("SEALGATE_TOKEN=…", `SEALGATE_TOKEN=${token}`),
      env: {
        ...COMPILED,
        PATH: `${folder}:${process.env["PATH"]}`,
        NODE: process.execPath,
        COMMAND,
        PACKAGE: resolve("package.json"),
        PIN: proxy.kid,
        AGENT: agent,
        JOB: job,
        SEALGATE_PROXY: proxy.url,
        SEALGATE_PIN: proxy.kid,
        SEALGATE_GATEWAY: gateway.url,
        SEALGATE_TOKEN: token,
      },
    }
  }),
)

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}
const execute = (file: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>>, cwd: string) =>
  Effect.callback<Ran>((resume) => {
    const child = execFile(file, args, { env: { ...env }, cwd }, (error, stdout, stderr) =>
      resume(Effect.succeed({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })),
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const blockOf = ({ name }: Snippet, number: number): string => {
  const before = name.replace(/\d+$/, String(number))
  return snippets.find((other) => other.name === before)?.text ?? ""
}

describe("blocks of the documentation", () => {
  it("are in known languages", () => {
    const known = new Set([...SHOWN, "ts", "sh", "json", "ini"])
    assert.deepStrictEqual(
      snippets.flatMap(({ at, language }) => (known.has(language) ? [] : [at])),
      [],
    )
  })

  it("have an expected output if they are programs", () => {
    const run = of("ts").flatMap(({ name }) => (name in NOT_RUN ? [] : [name]))
    assert.sameMembers(Object.keys(PROGRAMS), run)
  })

  it("include all exceptions that are not run", () => {
    const names = snippets.map(({ name }) => name)
    for (const name of Object.keys(NOT_RUN)) assert.include(names, name)
  })

  it("parse if they are JSON", () => {
    for (const { at, text } of of("json")) assert.doesNotThrow(() => void JSON.parse(text), undefined, at)
  })

  it("name existing variables if they are settings", () => {
    const known = new Set(
      [...Object.values(proxySettings), ...Object.values(gatewaySettings)].map(({ variable }) => variable),
    )
    for (const { at, text } of of("ini")) {
      for (const [, variable = ""] of text.matchAll(/^([A-Z0-9_]+)=/gm)) assert.include([...known], variable, at)
    }
  })
})

layer(layerServers, { excludeTestServices: true, timeout: "1 minute" })("the documentation", (it) => {
  for (const snippet of of("ts").filter(({ name }) => !(name in NOT_RUN))) {
    it.effect(`has a working program at ${snippet.at}`, () =>
      Effect.gen(function* () {
        const { after = [], says, shown = "" } = PROGRAMS[snippet.name] ?? { says: "" }
        const servers = yield* Servers
        const program = [...after.map((number) => blockOf(snippet, number)), snippet.text, shown].join("\n")
        const env = {
          ...COMPILED,
          PATH: process.env["PATH"] ?? "",
          SEALGATE_PROXY: servers.env["SEALGATE_PROXY"] ?? "",
          SEALGATE_PIN: servers.env["SEALGATE_PIN"] ?? "",
          SEALGATE_GATEWAY: servers.env["SEALGATE_GATEWAY"] ?? "",
          SEALGATE_TOKEN: servers.env["SEALGATE_TOKEN"] ?? "",
          HOST: "127.0.0.1",
          PORT: String(yield* Effect.promise(freePort)),
          JWT_SECRET: SECRET,
          DATABASE_URL: join(servers.folder, "docs.db"),
          LOG_LEVEL: "none",
        }
        const args = [
          "--conditions=@sealgate/source",
          "--input-type=module-typescript",
          "--eval",
          servers.fill(program),
        ]
        const { code, stderr, stdout } = yield* execute(process.execPath, args, env, process.cwd())
        assert.strictEqual(code, 0, `${snippet.at}\n${stderr}`)
        assert.include(stdout, says, snippet.at)
      }),
    )
  }

  for (const snippet of of("sh").filter(({ name }) => !(name in NOT_RUN))) {
    it.effect(`has working commands at ${snippet.at}`, () =>
      Effect.gen(function* () {
        const { env, fill, folder } = yield* Servers
        const script = `set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n${fill(snippet.text)}`
        const { code, stderr, stdout } = yield* execute("bash", ["-c", script], env, folder)
        assert.strictEqual(code, 0, `${snippet.at}\n${stdout}\n${stderr}`)
      }),
    )
  }
})

/** Returns the arguments of each `sealgate` command of a script. */
const commandsIn = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .replaceAll("\\\n", " ")
    .split(/\n|&&|\|/)
    .flatMap((line) => {
      const words = line.replace(/#.*$/, "").trim().split(/\s+/)
      const at = words.indexOf("sealgate")
      // `docker run … sealgate` names an image.
      return at < 0 || words.includes("docker") ? [] : [words.slice(at + 1)]
    })

/** Returns the first unknown command or flag, before any `--`. */
const known = (words: ReadonlyArray<string>): string | undefined => {
  const end = words.indexOf("--")
  const own = end < 0 ? words : words.slice(0, end)
  const names = own.slice(0, own.findIndex((word) => !/^[a-z]+$/.test(word)) >>> 0)
  const { status, stdout } = spawnSync(process.execPath, [COMMAND, ...names, "--help"], { encoding: "utf8" })
  if (status !== 0) return `unknown command: sealgate ${names.join(" ")}`
  return own.filter((word) => word.startsWith("--")).find((flag) => !stdout.includes(flag))
}

describe("commands of the documentation that are not run", () => {
  for (const snippet of of("sh").filter(({ name }) => name in NOT_RUN)) {
    it(`parse at ${snippet.at}, and use known flags (${NOT_RUN[snippet.name]})`, () => {
      assert.strictEqual(spawnSync("bash", ["-n", "-c", snippet.text]).status, 0)
      for (const words of commandsIn(snippet.text)) assert.isUndefined(known(words), words.join(" "))
    })
  }
})
