import { Effect, Option, Result, Schema } from "effect"
import { type ConfiguredProvider, PublicReadiness, Readiness } from "../../domain/operations/readiness.ts"
import { error, type Finding, ok, warning } from "./Finding.ts"
import { probe, reasonOf } from "./probe.ts"
import { describeAnswer } from "./unexpectedAnswer.ts"

const list = (providers: ReadonlyArray<ConfiguredProvider>): string =>
  providers
    .map(({ fault, model, provider }) => {
      const why = fault === null ? "" : `: ${fault.reason ?? fault.outcome}`
      return `${provider} (${model})${why}`
    })
    .join(", ")

const PROVIDER_FIX =
  "Check the provider's status page, and the proxy's log for the reason: key, quota, address or model."

const ONLY_ECHO = warning(
  "providers",
  "There is no model provider; the built-in echo repeats its input.",
  "Set a provider's key at the proxy, such as PROVIDER1_API_KEY.",
)

const providers = (readiness: Readiness): ReadonlyArray<Finding> => {
  const configured = readiness.providers.filter((provider) => provider.configured)
  const failing = configured.filter(({ circuit }) => circuit !== "closed")
  const rest = configured.filter(({ circuit, fault }) => circuit === "closed" && fault?.lasting !== true)
  const findings: Array<Finding> = configured.flatMap(({ fault, provider }) => {
    if (fault?.lasting !== true) return []
    const { fix, model, outcome, reason } = fault
    return [error("providers", `Calls to ${provider} (${model}) fail: ${reason ?? outcome}.`, `At the proxy, ${fix}.`)]
  })
  if (failing.length > 0) {
    const says = `Circuits are open after recent failures: ${list(failing)}.`
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
        "The proxy's keys are in ordinary memory, where copies may remain after use.",
        "Install the optional package sodium-native at the proxy.",
      )

/** Share of the maximum of sessions above which to warn. */
const NEARLY_FULL = 0.9

const state = ({ draining, redis, sessions, status, tls }: Readiness): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  if (redis === "down") {
    findings.push(
      warning(
        "limits",
        "Redis cannot be used: each process counts its limits alone.",
        "Check REDIS_URL; the log has the reason.",
      ),
    )
  }
  if (draining) findings.push(error("ready", "The proxy is shutting down.", "Wait for it to start again."))
  else if (status === "ready") findings.push(ok("ready", "The proxy is ready."))
  else if (status === "degraded") findings.push(ok("ready", "The proxy is ready, but degraded."))
  else findings.push(error("ready", "The proxy is not ready.", "See the other findings."))
  if (tls.invalid !== null) {
    findings.push(error("certificate", `Clients refuse the server: ${tls.invalid}`, "Replace the certificate's files."))
  }
  if (tls.last_reload_error !== null) {
    const says = `The proxy could not load changed certificate files: ${tls.last_reload_error}`
    findings.push(warning("certificate", says, "Fix the files; the proxy reloads them when they change."))
  }
  if (sessions !== undefined && sessions.live > sessions.max * NEARLY_FULL) {
    const says = `${sessions.live} of ${sessions.max} sessions are in use; soon a new one will end the oldest.`
    findings.push(warning("limits", says, "Raise SESSION_MAX_LIVE, or lower SESSION_TTL."))
  }
  return findings
}

/** Findings from the public part of `/ready`. */
const publicly = ({ mtls, providers, status }: PublicReadiness): ReadonlyArray<Finding> => [
  status === "ready"
    ? ok("ready", "The proxy is ready.")
    : error("ready", "The proxy is not ready.", "Its operator can find out why with --operator."),
  providers === "ok"
    ? ok("providers", "No provider's circuit is open. Unused providers were not tested; --call calls each.")
    : providers === "none"
      ? ONLY_ECHO
      : warning("providers", "A provider is failing.", PROVIDER_FIX),
  ...(mtls === "on" ? [ok("certificate", "The proxy accepts only clients with a certificate.")] : []),
]

const readAs = Effect.fnUntraced(function* <A>(schema: Schema.Decoder<A>, url: URL) {
  const answer = yield* Effect.result(probe(url))
  if (Result.isFailure(answer)) return Result.fail(`${reasonOf(answer.failure)}.`)
  const decoded = Schema.decodeUnknownOption(schema)(answer.success.body)
  return Result.fromOption(decoded, () => describeAnswer(answer.success))
})

/** Reads the full readiness from the operator's listener if its URL is given, else the public part. */
export const examineReadiness = Effect.fnUntraced(function* (proxy: URL, operator: Option.Option<URL>) {
  if (Option.isSome(operator)) {
    return Result.match(yield* readAs(Readiness, new URL("ready", operator.value)), {
      onFailure: (seen) => [
        error(
          "ready",
          `${operator.value.href} does not report the proxy's state: ${seen}`,
          "Check OPERATOR_HOST and OPERATOR_PORT at the proxy, which logs the address at start.",
        ),
      ],
      onSuccess: (readiness) => [...state(readiness), ...providers(readiness), keys(readiness)],
    })
  }
  return Result.match(yield* readAs(PublicReadiness, new URL("ready", proxy)), {
    onFailure: (seen) => [
      error("ready", `The proxy does not report whether it is ready: ${seen}`, "Check that /ready reaches the proxy."),
    ],
    onSuccess: publicly,
  })
})
