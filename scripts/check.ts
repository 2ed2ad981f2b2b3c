/** `npm run check`: types with Effect diagnostics, lint, format, the time of regular expressions. Every tool runs, so one pass shows everything. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"

// effect-tsgo is TypeScript 7 with Effect's diagnostics built in. Where no build of it exists, plain TypeScript
// checks the types and says what is missing.
const effectTsc = `node_modules/@effect/tsgo-${process.platform}-${process.arch}/lib/tsc`
const checker = existsSync(effectTsc) ? effectTsc : "node_modules/.bin/tsc"
if (checker !== effectTsc) console.warn(`! no Effect diagnostics on ${process.platform}-${process.arch}, types only`)

const FOLDERS = ["src", "test", "examples", "scripts", "bench", "eval"].filter((folder) => existsSync(folder))
const steps: ReadonlyArray<readonly [name: string, command: string, args: ReadonlyArray<string>]> = [
  ["types and Effect diagnostics", checker, ["--noEmit", "-p", "tsconfig.json"]],
  ["declarations of the package", checker, ["--noEmit", "-p", "scripts/tsconfig.build.json"]],
  ["types of the pages", checker, ["--noEmit", "-p", "src/web/tsconfig.json"]],
  ["lint", "node_modules/.bin/oxlint", ["--deny-warnings", ...FOLDERS]],
  ["format", "node_modules/.bin/oxfmt", ["--check", ...FOLDERS]],
  ["regular expressions take linear time", process.execPath, ["scripts/regularExpressions.ts"]],
]

let failed = 0
for (const [name, command, args] of steps) {
  const started = performance.now()
  const { status } = spawnSync(command, args, { stdio: "inherit" })
  if (status !== 0) failed++
  console.log(`${status === 0 ? "✓" : "✗"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
}
process.exit(failed === 0 ? 0 : 1)
