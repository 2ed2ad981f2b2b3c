/** Runs every program of the README and docs/ where a reader pastes it: here, and beside the installed packages. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { startGateway, startProxy } from "../examples/demo/serverProcess.ts"
import { PROGRAMS, snippets } from "../test/docs/snippets.ts"
import { freePort } from "../test/support/freePort.ts"
import {
  check,
  CLIENT_NODES,
  emptyFolder,
  install,
  installNodes,
  packAll,
  SERVER_NODES,
  startProject,
} from "./packed.ts"
import { pathOf } from "./paths.ts"

const SDKS = ["openai", "@anthropic-ai/sdk", "ai", "@ai-sdk/openai", "@ai-sdk/anthropic"]

const { devDependencies }: { readonly devDependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(pathOf("package.json"), "utf8"),
)

const textOf = (name: string): string => snippets.find((snippet) => snippet.name === name)?.text ?? ""

const programs = Object.entries(PROGRAMS).map(([name, { after = [], says, shown = "" }]) => {
  const before = after.map((number) => textOf(name.replace(/\d+$/, String(number))))
  const text = [...before, textOf(name), shown].join("\n")
  return { name, says, text, usesServers: /from "sealgate["/]/.test(text) }
})

const archives = packAll()
const folder = emptyFolder()
startProject(folder)
const warnings = install(folder, [
  archives.sealgate,
  archives["sealgate-client"],
  ...SDKS.map((name) => `${name}@${devDependencies[name]}`),
])
check("npm install warns of nothing", warnings === "", warnings)
const nodes = installNodes()

// Each run begins a session, and there are more than 60 runs a minute.
const proxy = await startProxy({ RATE_LIMIT_INIT: "0" })
const gateway = await startGateway({})
const env = {
  PATH: process.env["PATH"],
  SEALGATE_PROXY: proxy.url,
  SEALGATE_PIN: proxy.kid,
  SEALGATE_GATEWAY: gateway.url,
  SEALGATE_TOKEN: gateway.token,
  HOST: "127.0.0.1",
  JWT_SECRET: "a secret of at least thirty-two bytes",
  LOG_LEVEL: "none",
}
try {
  for (const { name, says, text, usesServers } of programs) {
    const versions = usesServers ? SERVER_NODES : [...CLIENT_NODES, ...SERVER_NODES]
    for (const [place, cwd] of [
      ["the checkout", pathOf(".")],
      ["an empty folder", folder],
    ] as const) {
      for (const version of versions) {
        // A port for programs that start a server.
        const PORT = String(await freePort())
        const own = { ...env, PORT, DATABASE_URL: join(emptyFolder(), "gateway.db") }
        const command = nodes.get(version) ?? ""
        const { status, stderr, stdout } = spawnSync(command, ["--input-type=module", "--eval", text], {
          cwd,
          env: own,
          encoding: "utf8",
          timeout: 60_000,
        })
        check(`${name} in ${place}, Node ${version}`, status === 0 && stdout.includes(says), stdout + stderr)
      }
    }
  }
} finally {
  await proxy.stop()
  await gateway.stop()
}
