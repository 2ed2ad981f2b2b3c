/** Verifies evidence of Confidential Space: the claims of its token (Google Cloud, "Attestation token claims"). */
import { encodeBase64Url } from "../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { hasBegun } from "../clock.ts"
import { must } from "../failure.ts"
import type { FormatCheck, FormatFacts } from "../format.ts"
import type { AcceptedSpace } from "../policy.ts"
import { swversionIn, tcbStatusIn } from "./claims.ts"
import { readToken } from "./token.ts"

const ISSUER = "https://confidentialcomputing.googleapis.com"
const HARDWARE = "GCP_INTEL_TDX"

const MALFORMED = "space-token-malformed"

const objectIn = (object: JsonObject, name: string): JsonObject => {
  const value = object[name]
  must(isObject(value), MALFORMED, `The token's ${name} is not an object.`)
  return value
}

const timeIn = (claims: JsonObject, name: string): number => {
  const value = claims[name]
  must(typeof value === "number" && Number.isFinite(value), MALFORMED, `The token's ${name} is not a time.`)
  return value
}

/** Claims that no policy loosens. */
const checkPlatform = (claims: JsonObject, binding: Uint8Array, now: number): void => {
  must(claims["iss"] === ISSUER, "space-issuer", "The token has another issuer.")
  const begins = Math.max(timeIn(claims, "nbf"), timeIn(claims, "iat"))
  must(hasBegun(begins, now), "space-not-yet-valid", "The token is not valid yet.")
  must(now < timeIn(claims, "exp"), "space-expired", "The token has expired.")
  const nonces = [claims["eat_nonce"]].flat()
  must(nonces.length === 1, "space-nonces", "The token has several nonces, or none.")
  must(
    nonces[0] === encodeBase64Url(binding),
    "binding-differs",
    "The token covers another key, configuration or nonce.",
  )
  must(claims["dbgstat"] === "disabled-since-boot", "debug-enabled", "The guest can be debugged.")
  must(claims["secboot"] === true, "space-secure-boot", "Secure boot is off.")
  must(claims["swname"] === "CONFIDENTIAL_SPACE", "space-software", "The guest does not run Confidential Space.")
  const { support_attributes: support } = objectIn(objectIn(claims, "submods"), "confidential_space")
  must(
    Array.isArray(support) && support.includes("STABLE"),
    "space-support",
    "The image of Confidential Space is not STABLE.",
  )
  must(
    claims["hwmodel"] === HARDWARE,
    "space-hardware",
    "The hardware is not Intel TDX: memory of plain SEV can be changed.",
  )
}

/** Names in an object of overrides, which is absent without any. */
const overridesIn = (container: JsonObject, name: string): ReadonlyArray<string> => {
  const value = container[name] ?? {}
  must(isObject(value) || Array.isArray(value), MALFORMED, `The token's ${name} is malformed.`)
  return Object.keys(value)
}

/** Throws unless an entry accepts version of the image and TCB status. A claim that an entry judges must be there. */
const checkVersions = (claims: JsonObject, entries: ReadonlyArray<AcceptedSpace>): void => {
  const [version, status] = [swversionIn(claims), tcbStatusIn(claims)]
  const recent = entries.filter(
    ({ minimum_swversion: oldest }) =>
      oldest === undefined || (version !== undefined && Number(version) >= Number(oldest)),
  )
  must(recent.length > 0, "space-swversion", `The policy does not accept version ${version} of Confidential Space.`)
  const isNamed = recent.some(
    ({ tcb_statuses: statuses }) =>
      statuses === undefined || (status !== undefined && status !== "Revoked" && statuses.includes(status)),
  )
  must(isNamed, "space-tcb-status", `The policy does not accept the TCB status ${status}.`)
}

/** Throws an `EvidenceFailure`. */
export const verifySpace = ({ evidence, binding, accepted, now, roots }: FormatCheck<AcceptedSpace>): FormatFacts => {
  const { claims, until } = readToken(evidence.report, roots.confidentialSpace, now)
  checkPlatform(claims, binding, now)
  const submods = objectIn(claims, "submods")
  const container = objectIn(submods, "container")
  const { image_digest: image } = container
  must(typeof image === "string", MALFORMED, "The token's image_digest is missing.")
  const forHardware = accepted.filter(({ hardware }) => hardware.some((each) => each === claims["hwmodel"]))
  must(forHardware.length > 0, "space-hardware", "The policy does not accept this hardware.")
  const forImage = forHardware.filter(({ image_digests: digests }) => digests.includes(image))
  must(forImage.length > 0, "measurement-unknown", "The policy does not know this image.")
  const commands = overridesIn(container, "cmd_override")
  must(commands.length === 0, "space-command-override", "The operator runs another command of the image.")
  const variables = overridesIn(container, "env_override")
  const audience = forImage.filter((each) => each.audience === claims["aud"])
  must(audience.length > 0, "space-audience", "The token is for another audience.")
  const environment = audience.filter((each) => variables.every((name) => each.environment.includes(name)))
  must(
    environment.length > 0,
    "space-environment-override",
    `The policy does not allow the operator to set all of ${variables.join(", ")}.`,
  )
  const { project_id: project } = objectIn(submods, "gce")
  const inProject = environment.filter(
    ({ projects }) => projects === undefined || projects.some((each) => each === project),
  )
  must(inProject.length > 0, "space-project", "The policy does not accept this project of Google Cloud.")
  checkVersions(claims, inProject)
  return { measurement: image, hardware: HARDWARE, validUntil: Math.min(until, timeIn(claims, "exp")) }
}
