/** Reasons not to start in evidence mode: ways past the measured code, or to publish secrets. */
import { url as inspectorUrl } from "node:inspector"
import { Effect, Option, Schema } from "effect"
import { ConfigurationMistakes, type Mistake } from "../../domain/problems/configuration.ts"
import { mayHoldSecret } from "../config/codecs.ts"
import { proxySettings } from "../config/proxySettings.ts"
import { findSettings, type Setting } from "../config/Setting.ts"
import type { ProcessFacts } from "./configurationOf.ts"

type Mode = "dstack" | "tsm" | "confidential-space"

/** Variables that the loader, Node and OpenSSL read by themselves, and that may change which code runs or which servers are trusted. */
const LOADED = /^(?:NODE|LD|SSL|OPENSSL)_/
/**
 * Variables that are harmless: set by images of Node, part of the attested configuration, or unused, as Kubernetes sets
 * for nodes and services.
 */
const HARMLESS = /^NODE_(?:ENV|VERSION|EXTRA_CA_CERTS|NAME|IP)$|_(?:SERVICE_HOST|SERVICE_PORT|PORT)(?:_|$)/

const environmentMistakes = (env: ProcessFacts["env"]): ReadonlyArray<Mistake> =>
  Object.keys(env)
    .filter((name) => LOADED.test(name) && !HARMLESS.test(name) && (env[name] ?? "") !== "")
    .map((variable) => ({
      variable,
      problem: "is set, and can change code or trust without evidence of it; remove it",
    }))

const processMistakes = ({ env, execArgv }: ProcessFacts): ReadonlyArray<Mistake> => {
  const given = (name: string) => execArgv.some((flag) => flag === name || flag.startsWith(`${name}=`))
  const isInspected = inspectorUrl() !== undefined || execArgv.some((flag) => flag.startsWith("--inspect"))
  const found: ReadonlyArray<readonly [boolean, string]> = [
    [isInspected, "an inspector can read every prompt; start Node without --inspect"],
    [
      given("--env-file") || given("--env-file-if-exists"),
      "Node's --env-file can name a file outside the measured image; use --config",
    ],
    [
      !given("--disable-sigusr1"),
      "SIGUSR1 would open an inspector; start with node --disable-sigusr1, as the image does",
    ],
  ]
  const ofFlags = found.flatMap(([isSo, problem]) => (isSo ? [{ variable: "ATTEST", problem }] : []))
  return [...environmentMistakes(env), ...ofFlags]
}

/**
 * Secrets of our settings in the environment, read or not: Confidential Space writes overrides of the environment into its
 * token, which anybody may read.
 */
const publishedSecrets = (env: ProcessFacts["env"]) => {
  const named = Object.values<Setting<unknown>>(proxySettings).flatMap(({ aliases, codec, spellings = [], variable }) =>
    [variable, ...spellings, ...aliases].map((variable) => ({ variable, codec })),
  )
  return named.flatMap(({ codec, variable }): ReadonlyArray<Mistake> => {
    const text = env[variable]?.trim() ?? ""
    // Text that cannot be decoded counts as a secret. Only variables that are not read can contain such text.
    const isHarmless = Option.exists(Schema.decodeOption(codec)(text), (value) => !mayHoldSecret(value))
    if (text === "" || isHarmless) return []
    const problem =
      "would be readable in every token of Confidential Space; pass it in a file with --config, fetched from Secret Manager"
    return [{ variable, problem }]
  })
}

/** With this file, the destinations of prompts could change after the evidence was given. */
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
  const published = mode === "confidential-space" ? publishedSecrets(facts.env) : []
  const mistakes = [...processMistakes(facts), ...published, ...(yield* changeableProviders)]
  if (mistakes.length > 0) return yield* new ConfigurationMistakes({ mistakes })
})
