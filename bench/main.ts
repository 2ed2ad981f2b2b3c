/**
 * `npm run bench`: measures the hot paths, each beside a peer or a floor in the same run. Server, upstream and load are
 * separate processes. Writes bench/results.json and docs/reference/performance.md. `-- --list` lists the cases, `-- <case> …` runs
 * some, `-- --quick` takes seconds for each.
 */
import { Effect, Exit, Scope } from "effect"
import { setup } from "../test/support/builds.ts"
import { CASES } from "./cases/cases.ts"
import type { Bench, Case } from "./harness/Case.ts"
import { installPeers } from "./harness/peers.ts"
import { publish } from "./harness/publish.ts"
import { keep } from "./harness/results.ts"
import { tableOf } from "./harness/table.ts"

const args = process.argv.slice(2)
const quick = args.includes("--quick")
const names = args.filter((arg) => !arg.startsWith("--"))
const unknown = [
  ...names.filter((name) => !CASES.some((known) => known.name === name)),
  ...args.filter((arg) => arg.startsWith("--") && arg !== "--quick" && arg !== "--list"),
]

const measure = async (chosen: Case): Promise<void> => {
  const scope = Scope.makeUnsafe()
  const bench: Bench = {
    use: (effect) => Effect.runPromise(Scope.provide(effect, scope)),
    seconds: quick ? 0.5 : 2.5,
    rounds: quick ? 1 : 3,
    count: (many, few) => (quick ? few : many),
  }
  try {
    const outcome = await chosen.run(bench)
    console.log(`\n${tableOf(chosen.title, chosen.unit, outcome)}`)
    if (!quick) publish(CASES, keep(chosen, outcome))
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

if (unknown.length > 0) {
  console.error(`Unknown arguments: ${unknown.join(", ")}. \`npm run bench -- --list\` lists the cases.`)
  process.exit(2)
}
if (args.includes("--list")) {
  for (const { name, title } of CASES) console.log(`${name.padEnd(14)}${title}`)
} else {
  installPeers()
  await setup()
  for (const known of CASES) if (names.length === 0 || names.includes(known.name)) await measure(known)
}
