/** What the proxy says about itself. */
import { Effect, Option, Result, Schema } from "effect"
import { type ConfiguredProvider, PublicReadiness, Readiness } from "../../domain/operations/readiness.ts"
import { error, type Finding, ok, warning } from "./Finding.ts"
import { probe, reasonOf } from "./probe.ts"
import { seen } from "./seen.ts"

const list = (providers: ReadonlyArray<ConfiguredProvider>): string =>
  providers.map(({ model, provider }) => `${provider} (${model})`).join(", ")

const PROVIDER_FIX = "Look at the provider's status page, and at the proxy's log for why: key, quota, address, model."

const ONLY_ECHO = warning(
  "providers",
  "There is no model provider; the built-in echo says back what it is sent.",
  "Set a provider's key at the proxy, such as PROVIDER1_API_KEY.",
)

const providers = (readiness: Readiness): ReadonlyArray<Finding> => {
  const configured = readiness.providers.filter((provider) => provider.configured)
  const failing = configured.filter(({ circuit }) => circuit !== "closed")
  const rest = configured.filter(({ circuit, fault }) => circuit === "closed" && fault === null)
  const findings: Array<Finding> = configured.flatMap(({ fault, provider }) => {
    if (fault === null) return []
    const { fix, model, outcome, reason } = fault
    return [error("providers", `Calls to ${provider} (${model}) fail: ${reason ?? outcome}.`, `At the proxy, ${fix}.`)]
  })
  if (failing.length > 0) {
    const says = `Circuits are open, because calls failed lately: ${list(failing)}.`
    findings.push(rest.length === 0 ? error("providers", says, PROVIDER_FIX) : warning("providers", says, PROVIDER_FIX))
  }
  if (rest.some(({ provider }) => provider === "echo")) {
    findings.push(ONLY_ECHO)
  } else if (rest.length > 0) findings.push(ok("providers", `Ready: ${list(rest)}.`))
  return findings
}

const keys = ({ key_storage }: Readiness): Finding =>
  key_storage === "guarded"
    ? ok("keys", "The proxy's keys are in guarded memory.")
    : warning(
        "keys",
        "The proxy's keys are in ordinary memory, where copies may remain after their use.",
        "Install the optional package sodium-native at the proxy.",
      )

/** Share of the sessions a proxy can hold at which it should hold more. */
const NEARLY_FULL = 0.9

const state = ({ draining, sessions, status, tls }: Readiness): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  if (draining) findings.push(error("ready", "The proxy is shutting down.", "Wait for it to start again."))
  else if (status === "ready") findings.push(ok("ready", "The proxy says that it is ready."))
  else if (status === "degraded") findings.push(ok("ready", "The proxy says that it is ready, but degraded."))
  else findings.push(error("ready", "The proxy says that it is not ready.", "See what else is found here."))
  if (tls.last_reload_error !== null) {
    const says = `The proxy could not take over changed certificate files: ${tls.last_reload_error}`
    findings.push(warning("certificate", says, "Mend the files; they are looked at again when they change."))
  }
  if (sessions !== undefined && sessions.live > sessions.max * NEARLY_FULL) {
    const says = `${sessions.live} of ${sessions.max} sessions are taken; a new one ends the oldest soon.`
    findings.push(warning("limits", says, "Raise SESSION_MAX_LIVE, or lower SESSION_TTL."))
  }
  return findings
}

/** What anybody is told. */
const publicly = ({ mtls, providers, status }: PublicReadiness): ReadonlyArray<Finding> => [
  status === "ready"
    ? ok("ready", "The proxy says that it is ready.")
    : error("ready", "The proxy says that it is not ready.", "Its operator learns why with --operator."),
  providers === "ok"
    ? ok("providers", "No circuit of a provider is open, as far as the proxy was used; --call tries each.")
    : providers === "none"
      ? ONLY_ECHO
      : warning("providers", "A provider is failing.", PROVIDER_FIX),
  ...(mtls === "on" ? [ok("certificate", "The proxy lets in only clients with a certificate.")] : []),
]

const readAs = Effect.fnUntraced(function* <A>(schema: Schema.Decoder<A>, url: URL) {
  const answer = yield* Effect.result(probe(url))
  if (Result.isFailure(answer)) return Result.fail(`${reasonOf(answer.failure)}.`)
  const decoded = Schema.decodeUnknownOption(schema)(answer.success.body)
  return Result.fromOption(decoded, () => seen(answer.success))
})

/** With the address of the operator's listener, what is told there; else what anybody is told. */
export const examineReadiness = Effect.fnUntraced(function* (proxy: URL, operator: Option.Option<URL>) {
  if (Option.isSome(operator)) {
    return Result.match(yield* readAs(Readiness, new URL("ready", operator.value)), {
      onFailure: (seen) => [
        error(
          "ready",
          `${operator.value.href} does not report the proxy's state: ${seen}`,
          "Check OPERATOR_HOST and OPERATOR_PORT at the proxy; it logs the address when it starts.",
        ),
      ],
      onSuccess: (readiness) => [...state(readiness), ...providers(readiness), keys(readiness)],
    })
  }
  return Result.match(yield* readAs(PublicReadiness, new URL("ready", proxy)), {
    onFailure: (seen) => [
      error("ready", `The proxy does not say whether it is ready: ${seen}`, "Check that /ready reaches the proxy."),
    ],
    onSuccess: publicly,
  })
})
