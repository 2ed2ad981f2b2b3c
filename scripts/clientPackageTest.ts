/** `npm run test:client-package`: runs the `ts` blocks of both READMEs with the packed client on every runtime. */
import { execFileSync, spawnSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { startProxy } from "../examples/demo/serverProcess.ts"
import { check, emptyFolder, install, packClient, startProject } from "./packed.ts"
import { pathOf } from "./paths.ts"

const MAX_PACKAGES = 6
const MAX_BYTES = 2_000_000
const MAX_IMPORT_MS = 50
/** Largest browser bundle, gzipped, before the post-quantum part loads. */
const MAX_BUNDLE_BYTES = 30_000

const run = (command: string, args: ReadonlyArray<string>, cwd: string, env = process.env): string =>
  execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)

/** npm package names of the runtimes, each with the arguments before a program's file. */
const RUNTIMES: ReadonlyArray<readonly [name: string, spec: string, command: string, ...args: ReadonlyArray<string>]> =
  [
    ["Node 20", "node20@npm:node@20", "node20/bin/node"],
    ["Node 22", "node22@npm:node@22", "node22/bin/node"],
    ["Bun", "bun@1", ".bin/bun"],
    ["Deno", "deno@2", ".bin/deno", "run", "--allow-all"],
  ]

/** Programs by name, with text that their output must contain. */
const PROGRAMS: Readonly<Record<string, { readonly source: string; readonly shows: string }>> = {
  "stream.mjs": {
    source: `import { proveExchange, SealedClient } from "sealgate-client"
const pins = [process.env.SEALGATE_PIN]
for (const suites of [["MLKEM768-X25519"], ["X25519"]]) {
  const client = new SealedClient({ baseUrl: process.env.SEALGATE_PROXY, pins, suites })
  const stream = await client.stream({ prompt: "one two three" })
  for await (const part of stream) if (part.type === "delta") process.stdout.write(part.chunk.choices[0]?.delta.content ?? "")
  const { evidence } = await stream.end
  const proven = await proveExchange(evidence, { pins, keys: client.keySet })
  console.log(" proven", proven.receipt.count)
}`,
    shows: "proven",
  },
  "fetch.mjs": {
    source: `import { createSealedFetch } from "sealgate-client"
const fetch = createSealedFetch({ baseUrl: process.env.SEALGATE_PROXY, pins: [process.env.SEALGATE_PIN] })
const answer = await fetch("https://sealed.invalid/v1/chat/completions", {
  method: "POST",
  body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
})
console.log(answer.status, (await answer.json()).object)`,
    shows: "200 chat.completion",
  },
  "pinned.mjs": {
    source: `import { SealedClient } from "sealgate-client"
const client = new SealedClient({ baseUrl: process.env.SEALGATE_PROXY, pins: ["${"A".repeat(43)}"] })
await client.complete({ prompt: "Hello" }).catch((error) => console.log(error.code))`,
    shows: "pin-mismatch",
  },
  "policy.mjs": {
    source: `import { readPolicy } from "sealgate-client/policy"
await readPolicy("{}", { signer: "${"A".repeat(43)}" }).catch((error) => console.log(error.code, error.reason))`,
    shows: "evidence-refused policy-malformed",
  },
}

/** The first `ts` block of the package's README; it has no types, so it is JavaScript. */
const [, snippet = ""] = /```ts\n([^]*?)```/.exec(readFileSync(pathOf("packages/client/README.md"), "utf8")) ?? []

/** The files of a browser bundle. The first is the entry; its static imports count as loaded with it. */
const bundle = async (entry: string) => {
  const build = await rolldown({ input: entry, platform: "browser", logLevel: "silent" })
  const { output } = await build.generate({ format: "esm", minify: true })
  await build.close()
  const files = output.filter((file) => file.type === "chunk")
  const loaded = files.filter((file, index) => index === 0 || files[0]?.imports.includes(file.fileName))
  return { files, loaded }
}

const folder = emptyFolder()
try {
  startProject(folder)
  install(folder, [packClient(folder)])

  const lock: { readonly packages: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync(join(folder, "package-lock.json"), "utf8"),
  )
  const packages = Object.keys(lock.packages).filter((path) => path !== "").length
  check(`${packages} packages are installed, at most ${MAX_PACKAGES}`, packages <= MAX_PACKAGES)
  const installed = bytesIn(join(folder, "node_modules"))
  check(`they take ${(installed / 1e6).toFixed(2)} MB, at most ${MAX_BYTES / 1e6}`, installed <= MAX_BYTES)

  const timed = `const begun = performance.now(); await import("sealgate-client"); console.log(performance.now() - begun)`
  const times = Array.from({ length: 10 }, () =>
    Number(run(process.execPath, ["--input-type=module", "-e", timed], folder)),
  )
  const fastest = Math.min(...times)
  check(`it is imported in ${fastest.toFixed(0)} ms, at most ${MAX_IMPORT_MS}`, fastest <= MAX_IMPORT_MS)

  writeFileSync(
    join(folder, "types.ts"),
    `import { type ChatInput, SealedClient } from "sealgate-client"
const input: ChatInput = { prompt: "Hello" }
// @ts-expect-error: the prompt must be text
const wrong: ChatInput = { prompt: 1 }
export const answer = new SealedClient({ baseUrl: "http://x", pins: [] }).complete(input ?? wrong)
`,
  )
  const options = ["--module", "nodenext", "--strict", "--noEmit", "--lib", "es2022,dom", "--types", ""]
  run(pathOf("node_modules/.bin/tsc"), [...options, "types.ts"], folder)
  check("its types stand without Effect", true)

  writeFileSync(join(folder, "browser.js"), 'export { SealedClient } from "sealgate-client"\n')
  const { files: parts, loaded } = await bundle(join(folder, "browser.js"))
  const bytes = loaded.reduce((sum, { code }) => sum + gzipSync(code).length, 0)
  check(`the client as a browser bundle: ${(bytes / 1000).toFixed(1)} kB gzipped`, bytes < MAX_BUNDLE_BYTES)
  check("the post-quantum part is loaded when it is used", loaded.length < parts.length)
  const code = parts.map((part) => part.code).join("\n")
  check("no Node import in it", !/from\s*["']node:|require\(["']node:|import\(["']node:/.test(code))
  for (const part of parts) writeFileSync(join(folder, part.fileName), part.code)
  const load = `import("./${parts[0]?.fileName}").then((m) => console.log(new m.SealedClient({ baseUrl: "http://x" }).pins.length))`
  check("the bundle loads", run(process.execPath, ["-e", load], folder).trim() === "0")

  const proxy = await startProxy()
  try {
    const env = { ...process.env, SEALGATE_PROXY: proxy.url, SEALGATE_PIN: proxy.kid }
    for (const [name, { source }] of Object.entries(PROGRAMS)) writeFileSync(join(folder, name), source)
    writeFileSync(join(folder, "readme.mjs"), snippet)
    const programs = [
      ...Object.entries(PROGRAMS).map(([file, { shows }]) => [file, shows] as const),
      ["readme.mjs", "Hello"] as const,
    ]
    const runtimes = emptyFolder()
    writeFileSync(join(runtimes, "package.json"), JSON.stringify({ private: true }))
    const others = RUNTIMES.flatMap(([name, spec, command, ...args]) => {
      const { status } = spawnSync("npm", ["install", "--silent", "--no-audit", "--no-fund", spec], { cwd: runtimes })
      if (status === 0) return [{ name, command: join(runtimes, "node_modules", command), args }]
      console.log(`! ${name}: skipped, npm could not install it`)
      return []
    })
    for (const { args, command, name } of [
      { name: `Node ${process.versions.node}`, command: process.execPath, args: [] },
      ...others,
    ]) {
      for (const [file, shows] of programs) {
        check(`${file} on ${name}`, run(command, [...args, file], folder, env).includes(shows))
      }
    }
    rmSync(runtimes, { recursive: true, force: true })
  } finally {
    await proxy.stop()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
