/** Reasons not to start in evidence mode: ways past the measured code, or to publish secrets. */
import { url as inspectorUrl } from "node:inspector"
import { Effect } from "effect"
import { ConfigurationMistakes, type Mistake } from "../../domain/problems/configuration.ts"
import { SLOTS } from "../../services/upstream/Slots.ts"
import { proxySettings } from "../config/proxySettings.ts"
import { findSettings } from "../config/Setting.ts"
import type { ProcessFacts } from "./configurationOf.ts"

type Mode = "dstack" | "tsm" | "confidential-space"

const processMistakes = ({ env, execArgv }: ProcessFacts): ReadonlyArray<Mistake> => {
  const given = (name: string) => execArgv.some((flag) => flag === name || flag.startsWith(`${name}=`))
  const isInspected = inspectorUrl() !== undefined || execArgv.some((flag) => flag.startsWith("--inspect"))
  const found: ReadonlyArray<readonly [boolean, string, string]> = [
    [
      (env["NODE_OPTIONS"] ?? "") !== "",
      "NODE_OPTIONS",
      "is set, and can load other code than was measured; remove it",
    ],
    [isInspected, "ATTEST", "an inspector can read every prompt; start Node without --inspect"],
    [
      given("--env-file") || given("--env-file-if-exists"),
      "ATTEST",
      "Node's --env-file can name a file outside the measured image; use --config",
    ],
    [
      !given("--disable-sigusr1"),
      "ATTEST",
      "SIGUSR1 would open an inspector; start with node --disable-sigusr1, as the image does",
    ],
  ]
  return found.flatMap(([isSo, variable, problem]) => (isSo ? [{ variable, problem }] : []))
}

/** Keys in the environment: Confidential Space writes overrides of the environment into its token, which anybody may read. */
const publishedKeys = Effect.map(findSettings(SLOTS.map((slot) => proxySettings[`${slot}ApiKey`])), (found) =>
  found.flatMap(({ from }): ReadonlyArray<Mistake> =>
    from?.origin === "the environment"
      ? [
          {
            variable: from.variable,
            problem:
              "would be readable in every token of Confidential Space; pass it in a file with --config, fetched from Secret Manager",
          },
        ]
      : [],
  ),
)

/** The file can change where prompts go after the evidence was given. */
const changeableProviders = Effect.map(findSettings([proxySettings.providersFile]), (found) =>
  found.flatMap(({ from }): ReadonlyArray<Mistake> =>
    from === undefined
      ? []
      : [
          {
            variable: from.variable,
            problem: "can change while the proxy runs, which no evidence covers; use PROVIDERn_…",
          },
        ],
  ),
)

/** Fails with all reasons not to start. */
export const mustBeMeasured = Effect.fnUntraced(function* (mode: Mode, facts: ProcessFacts) {
  const published = mode === "confidential-space" ? yield* publishedKeys : []
  const mistakes = [...processMistakes(facts), ...published, ...(yield* changeableProviders)]
  if (mistakes.length > 0) return yield* new ConfigurationMistakes({ mistakes })
})
