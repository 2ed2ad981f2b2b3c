/** Checks that the policy accepts the proxy's evidence, and warns of what expires. */
import { Effect } from "effect"
import type { EvidencePolicy } from "../../attestation/policy.ts"
import { timeOf } from "../attest/describeCode.ts"
import { askAt, prove, secondsNow } from "../attest/prove.ts"
import { error, type Finding, ok, warning } from "./Finding.ts"

const DAY = 86_400
/** Days before its end from which to warn of a policy. Collateral is renewed by its vendor, so its last day suffices. */
const RENEW_DAYS = { policy: 14, collateral: 1 }

/** `proxy` is the base URL. */
export const examineEvidence = (proxy: URL, rules: EvidencePolicy) =>
  Effect.gen(function* () {
    const { hardware, measurement, validUntil } = yield* prove(yield* askAt(proxy), rules)
    const now = yield* secondsNow
    const findings: Array<Finding> = [
      ok("evidence", `The policy accepts the proxy's code, ${measurement}, on ${hardware}.`),
    ]
    if (rules.expires - now < RENEW_DAYS.policy * DAY) {
      const says = `The policy expires soon, at ${timeOf(rules.expires)}; clients then seal nothing.`
      findings.push(warning("evidence", says, "Get a newer one from its signer, or make one: sealgate attest policy."))
    } else if (validUntil - now < RENEW_DAYS.collateral * DAY) {
      const says = `A certificate, revocation list or document behind the evidence expires at ${timeOf(validUntil)}.`
      findings.push(
        warning("evidence", says, "Its vendor should have renewed it by then; if not, clients seal nothing."),
      )
    }
    return findings
  }).pipe(
    Effect.catch(({ message }) =>
      Effect.succeed([
        error(
          "evidence",
          message,
          "If code or configuration differ, ask the proxy's operator why before you change the policy.",
        ),
      ]),
    ),
  )
