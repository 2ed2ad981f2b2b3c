/** Follows docs/tutorial.md in an empty folder with the packed packages: every command and program, in order. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { freePort } from "../test/support/freePort.ts"
import { check, emptyFolder, packAll } from "./packed.ts"
import { pathOf } from "./paths.ts"

/** Blocks of the tutorial that show something, with the output that a reader must see. */
const EXPECTED: ReadonlyArray<readonly [command: string, shows: string]> = [
  ['npx sealgate chat "Hello"\n', "Hello"],
  ["node app.mjs", "Nobody between us can read this"],
  ["npx sealgate verify answer.json", "This revealed exchange is genuine"],
  ["npx sealgate verify forged.json", "not genuine"],
  ["node attack.mjs", "refused as tampered"],
  ["--pin AAAA", "refused"],
]

const archives = packAll()
const port = String(await freePort())
const text = readFileSync(pathOf("docs/tutorial.md"), "utf8").replaceAll("localhost:3001", `localhost:${port}`)
const blocks = [...text.matchAll(/^```(sh|ts)\n([^]*?)^```$/gm)].map(([, language, block = ""], index, all) => {
  const before = text.slice(index === 0 ? 0 : all[index - 1]?.index, all[index]?.index)
  return { language, block, file: /Save this as `([\w.]+)`/.exec(before)?.[1] }
})

const root = emptyFolder()
const folder = join(root, "sealed-app")
mkdirSync(folder)
const others = Object.entries(process.env).filter(([name]) => !/^(PROVIDER|SEALGATE)/.test(name))
const env: Record<string, string | undefined> = { ...Object.fromEntries(others), PORT: port }

let server: ChildProcess | undefined
const stop = async (): Promise<void> => {
  if (server?.pid === undefined || server.exitCode !== null) return
  const exited = once(server, "exit")
  // The whole group: npx starts the command as a child.
  process.kill(-server.pid, "SIGINT")
  await exited
}

/** Starts a server as in a second terminal, and returns the pin that it prints. */
const serve = async (command: string): Promise<string> => {
  await stop()
  server = spawn("bash", ["-c", command], { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "inherit"] })
  if (server.stdout !== null) {
    for await (const line of createInterface(server.stdout)) {
      const pin = /identity to pin: ([\w-]{43})/.exec(line)?.[1]
      if (pin === undefined) continue
      server.stdout.resume()
      return pin
    }
  }
  throw new Error(`${command} did not start`)
}

const begun = performance.now()
try {
  const pins = new Set<string>()
  let seen = 0
  for (const { block, file, language } of blocks) {
    if (language === "ts") {
      check(`a program is saved as ${file}`, file !== undefined)
      writeFileSync(join(folder, file ?? ""), block)
    } else if (block.startsWith("npx sealgate proxy")) {
      writeFileSync(join(folder, "proxy.env"), "PROVIDER1_API_KEY=sk-none\n")
      pins.add(await serve(block))
      check(block.trim(), pins.size === 1)
    } else {
      const installing = block.startsWith("mkdir")
      const commands = block
        .replace("mkdir sealed-app && cd sealed-app && ", "")
        .replace("install sealgate sealgate-client", `install ${archives.sealgate} ${archives["sealgate-client"]}`)
      // The environment after the commands is the next ones'.
      const script = `set -eo pipefail\n${commands}\nenv -0 > "${root}/env"`
      const { status, stderr, stdout } = spawnSync("bash", ["-c", script], { cwd: folder, env, encoding: "utf8" })
      check(block.trim().split("\n").join("; "), status === 0, stdout + stderr)
      if (installing) check("npm warns of nothing", !stderr.includes("warn"), stderr)
      for (const entry of readFileSync(join(root, "env"), "utf8").split("\0")) {
        const [name = "", ...value] = entry.split("=")
        if (name.startsWith("SEALGATE_")) env[name] = value.join("=")
      }
      const [, shows] = EXPECTED.find(([command]) => block.includes(command)) ?? []
      if (shows === undefined) continue
      seen++
      check(`  shows "${shows}"`, stdout.includes(shows), stdout + stderr)
    }
  }
  check("every expected output was seen", seen === EXPECTED.length)
  console.log(`It took ${Math.round((performance.now() - begun) / 1000)} s.`)
} finally {
  await stop()
}
