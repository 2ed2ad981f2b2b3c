/** Checks that the proxy can be reached, and how the connection is protected. */
import { Clock, Effect, Result } from "effect"
import { isObject } from "../../domain/json/json.ts"
import { hostName, isLoopback } from "../../domain/access/hostName.ts"
import { error, type Finding, ok, warning } from "./Finding.ts"
import { type CertificateSeen, type NoAnswer, probe, type Probed, reasonOf } from "./probe.ts"
import { remedyFor, isFromSealgate, describeAnswer } from "./unexpectedAnswer.ts"

const HEALTH = "health"
const DAY_MS = 86_400_000
/** Days before expiry from which to warn. */
const RENEW_DAYS = 14

const address = (proxy: URL): Finding => {
  if (proxy.protocol === "https:") return ok("address", "The address is HTTPS.")
  if (isLoopback(hostName(proxy.host))) return ok("address", "The address is plain HTTP, on this machine.")
  return warning(
    "address",
    "The address is plain HTTP. Prompts stay sealed, but anybody on the path can see who sends how much and when, and can interfere.",
    "Set TLS_CERT_FILE and TLS_KEY_FILE at the proxy, or put it behind TLS, and use an https:// address.",
  )
}

const WITHOUT_TLS = "Use http://, or give the proxy a certificate."
const WITH_TLS = "Check port and scheme: a proxy with a certificate needs https://."

const FIXES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Start the proxy (sealgate proxy), and check host and port.",
  ETIMEDOUT: "Check firewalls, and whether the proxy is overloaded.",
  EPROTO: WITHOUT_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: WITHOUT_TLS,
}

/** Remedies for errors over plain HTTP. */
const PLAIN_FIXES: Readonly<Record<string, string>> = {
  HPE_INVALID_CONSTANT: WITH_TLS,
  ECONNRESET: WITH_TLS,
  EPIPE: WITH_TLS,
}

const unreachable = (failure: NoAnswer, proxy: URL): Finding => {
  const { code, reason } = failure
  if (FIXES[code] === undefined && /certificate required|handshake failure/i.test(reason)) {
    return error(
      "reachable",
      "The proxy requires a client certificate (mutual TLS).",
      "The doctor cannot present one; ask the operator.",
    )
  }
  const plainFix = proxy.protocol === "http:" ? PLAIN_FIXES[code] : undefined
  const fix = FIXES[code] ?? plainFix ?? "Check address and network."
  return error("reachable", `The proxy cannot be reached: ${reasonOf(failure)}.`, fix)
}

const OBJECTIONS: Readonly<Record<string, readonly [says: string, fix: string]>> = {
  CERT_HAS_EXPIRED: ["has expired", "Renew it at the proxy; changed files are reloaded without a restart."],
  CERT_NOT_YET_VALID: ["is not valid yet", "Check the clocks of this machine and of the proxy."],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "is for another host",
    "Use the name in the certificate, or get a certificate for this name.",
  ],
}

const certificate = ({ objection, validUntil }: CertificateSeen, now: number): Finding => {
  const until = new Date(validUntil).toISOString()
  if (objection !== undefined) {
    const [says, fix] = OBJECTIONS[objection] ?? [
      `is signed by no authority that this machine trusts (${objection})`,
      "Use a certificate of a public authority, or give your authority with --ca here and NODE_EXTRA_CA_CERTS to clients.",
    ]
    return error("certificate", `The certificate (until ${until}) ${says}; clients will refuse it.`, fix)
  }
  return validUntil - now < RENEW_DAYS * DAY_MS
    ? warning(
        "certificate",
        `The certificate expires soon, at ${until}.`,
        "Renew it; changed files are reloaded without a restart.",
      )
    : ok("certificate", `The certificate is valid until ${until}.`)
}

/** Reports a refusal: a sealgate server's reason, or a description of another server's answer. */
const refused = (health: Probed, proxy: URL): Finding => {
  if (!isFromSealgate(health)) {
    const says = `A server answers, but it is not sealgate: ${describeAnswer(health)}`
    return error("reachable", says, remedyFor(health, proxy, HEALTH))
  }
  const detail = isObject(health.body) ? health.body["detail"] : undefined
  return error(
    "reachable",
    `The proxy refused the request: ${describeAnswer(health)}`,
    typeof detail === "string" ? detail : "See its log.",
  )
}

interface Transport {
  readonly findings: Array<Finding>
  /** Whether to run the other checks. */
  readonly reached: boolean
  /** Whether it is a sealgate server, with paths beyond the protocol. */
  readonly isSealgate: boolean
}

/** Whether a server publishes keys as the protocol requires. Other implementations may lack /health. */
const speaksProtocol = Effect.fnUntraced(function* (proxy: URL) {
  const keys = yield* Effect.result(probe(new URL("v1/keys", proxy)))
  if (Result.isFailure(keys) || keys.success.status !== 200) return false
  const { body } = keys.success
  return (
    isObject(body) &&
    Array.isArray(body["keys"]) &&
    body["keys"].some((key) => isObject(key) && key["crv"] === "Ed25519")
  )
})

export const examineTransport = Effect.fnUntraced(function* (proxy: URL) {
  const health = yield* Effect.result(probe(new URL(HEALTH, proxy)))
  if (Result.isFailure(health)) {
    const transport: Transport = {
      findings: [address(proxy), unreachable(health.failure, proxy)],
      reached: false,
      isSealgate: false,
    }
    return transport
  }
  const { body, certificate: seen, status } = health.success
  const software = isObject(body) && typeof body["software"] === "string" ? body["software"] : undefined
  const certified = seen === undefined ? [] : [certificate(seen, yield* Clock.currentTimeMillis)]
  const isSealgate = status === 200 && software?.startsWith("sealgate/") === true
  const isOther = !isFromSealgate(health.success) && (yield* speaksProtocol(proxy))
  const transport: Transport = {
    findings: [
      address(proxy),
      isSealgate
        ? ok("reachable", `The proxy answers; it is ${software}.`)
        : isOther
          ? ok("reachable", "The proxy answers; it is another implementation of the protocol.")
          : refused(health.success, proxy),
      ...certified,
    ],
    reached: isSealgate || isOther,
    isSealgate,
  }
  return transport
})
