/** Tokens of Confidential Space with one mistake each, correctly signed where the mistake allows. */
import { generateKeyPairSync } from "node:crypto"
import { encodeBase64Url, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { type Keys, makeKeys } from "../support/authority.ts"
import { CONTAINER, space, type SpaceWish, SUBMODS } from "../support/space.ts"
import { BINDING, NOW } from "../support/world.ts"
import { refusalsOf } from "./refusal.ts"

const NONCE = encodeBase64Url(BINDING)
const SHORT: Keys = { algorithm: "rsa", ...generateKeyPairSync("rsa", { modulusLength: 1024 }) }
const claims = (change: Record<string, unknown>): SpaceWish => ({ claims: change })
const container = (change: object): SpaceWish =>
  claims({ submods: { ...SUBMODS, container: { ...CONTAINER, ...change } } })
/** A part of the token, replaced after signing. */
const part = (index: number, text: string): SpaceWish => ({
  afterwards: (token) => token.split(".").toSpliced(index, 1, text).join("."),
})
const json = (text: string): string => encodeBase64Url(utf8(text))
const versioned = (swversion: unknown): SpaceWish => ({
  claims: { swversion },
  accept: { minimum_swversion: "250301" },
})
const status = (tdx: unknown): SpaceWish => ({ claims: { tdx }, accept: { tcb_statuses: ["UpToDate"] } })
const IMAGE_OTHER = `sha256:${"cd".repeat(32)}`

export const SPACE_REFUSALS = refusalsOf<SpaceWish>(space, [
  ["an empty token", "space-token-malformed", { afterwards: () => "" }],
  ["a token of two parts", "space-token-malformed", { afterwards: (token) => token.slice(0, token.lastIndexOf(".")) }],
  ["a token of four parts", "space-token-malformed", { afterwards: (token) => `${token}.AA` }],
  ["a header that is not JSON", "space-token-malformed", part(0, json("{"))],
  ["a header that is a list", "space-token-malformed", part(0, json("[]"))],
  ["a header with padding", "space-token-malformed", part(0, "e30=")],
  ["a token without a chain", "space-token-malformed", { header: { x5c: undefined } }],
  [
    "a chain in base64url",
    "space-token-malformed",
    { chain: (chain) => chain.map((each) => each.replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_")) },
  ],
  ["a chain with numbers", "space-token-malformed", { chain: () => [1, 2, 3] }],
  ["critical extensions", "space-token-malformed", { header: { crit: ["exp"] } }],
  ["no end", "space-token-malformed", claims({ exp: undefined })],
  ["an end as text", "space-token-malformed", claims({ exp: "never" })],
  ["no submods", "space-token-malformed", claims({ submods: undefined })],
  ["no image digest", "space-token-malformed", container({ image_digest: undefined })],
  ["an override that is text", "space-token-malformed", container({ cmd_override: "sh" })],
  ["the algorithm none", "space-algorithm", { header: { alg: "none" } }],
  ["a MAC in place of a signature", "space-algorithm", { header: { alg: "HS256" } }],
  ["a leaf of P-256", "space-algorithm", { leafKeys: makeKeys("p256") }],
  ["a leaf of RSA with 1024 bits", "space-algorithm", { leafKeys: SHORT }],
  ["a chain of two in a token", "chain-length", { chain: (chain) => chain.slice(1) }],
  ["a chain of four in a token", "chain-length", { chain: (chain) => [...chain, chain[2]] }],
  ["a malformed certificate in a token", "certificate-malformed", { chain: (chain) => ["AAAA", ...chain.slice(1)] }],
  [
    "a token under another root",
    "chain-root",
    { check: (check) => ({ ...check, roots: { ...check.roots, confidentialSpace: "00".repeat(32) } }) },
  ],
  ["a token without its signature, as verify_signature=False would read it", "signature-wrong", part(2, "")],
  ["claims changed after signing", "signature-wrong", part(1, json("{}"))],
  ["another issuer", "space-issuer", claims({ iss: "https://example.org" })],
  ["another audience", "space-audience", claims({ aud: "https://sts.googleapis.com" })],
  ["several audiences", "space-audience", claims({ aud: ["https://sealgate/evidence"] })],
  ["a token of tomorrow", "space-not-yet-valid", claims({ nbf: NOW + 86_400 })],
  ["a token issued tomorrow", "space-not-yet-valid", claims({ iat: NOW + 86_400 })],
  ["a token of more than a minute from now", "space-not-yet-valid", claims({ nbf: NOW + 61 })],
  ["an expired token", "space-expired", claims({ exp: NOW })],
  ["two nonces side by side", "space-nonces", claims({ eat_nonce: [NONCE, NONCE] })],
  ["no nonce", "space-nonces", claims({ eat_nonce: [] })],
  ["another nonce", "binding-differs", claims({ eat_nonce: "A".repeat(43) })],
  ["a missing nonce", "binding-differs", claims({ eat_nonce: undefined })],
  ["a debug image", "debug-enabled", claims({ dbgstat: "enabled" })],
  ["no debug status", "debug-enabled", claims({ dbgstat: undefined })],
  ["secure boot off", "space-secure-boot", claims({ secboot: false })],
  ["secure boot as text", "space-secure-boot", claims({ secboot: "true" })],
  ["a plain virtual machine", "space-software", claims({ swname: "GCE" })],
  [
    "an image that is only usable",
    "space-support",
    claims({ submods: { ...SUBMODS, confidential_space: { support_attributes: ["USABLE"] } } }),
  ],
  ["an image without support attributes", "space-support", claims({ submods: { ...SUBMODS, confidential_space: {} } })],
  ["plain SEV", "space-hardware", claims({ hwmodel: "GCP_AMD_SEV" })],
  ["SEV-ES", "space-hardware", claims({ hwmodel: "GCP_AMD_SEV_ES" })],
  ["a shielded virtual machine", "space-hardware", claims({ hwmodel: "GCP_SHIELDED_VM" })],
  ["another image", "measurement-unknown", container({ image_digest: IMAGE_OTHER })],
  ["another command of the image", "space-command-override", container({ cmd_override: ["sh"] })],
  [
    "an override of the environment",
    "space-environment-override",
    container({ env_override: { NODE_OPTIONS: "--require=x" } }),
  ],
  [
    "one override of two without its name in the policy",
    "space-environment-override",
    { ...container({ env_override: { LOG_LEVEL: "x", NODE_OPTIONS: "x" } }), accept: { environment: ["LOG_LEVEL"] } },
  ],
  ["hardware that no entry accepts", "space-hardware", { accept: { hardware: [] } }],
  ["an older image of Confidential Space", "space-swversion", { accept: { minimum_swversion: "250302" } }],
  ["no version of Confidential Space", "space-swversion", versioned(undefined)],
  ["two versions of Confidential Space", "space-swversion", versioned(["250301", "250401"])],
  ["a version as a number", "space-swversion", versioned([250_301])],
  ["a TCB status without its name in the policy", "space-tcb-status", status({ gcp_attester_tcb_status: "OutOfDate" })],
  [
    "a revoked machine, even if the policy names it",
    "space-tcb-status",
    {
      claims: { tdx: { gcp_attester_tcb_status: "Revoked" } },
      accept: { tcb_statuses: ["UpToDate", "Revoked"] },
    },
  ],
  ["no TDX claims", "space-tcb-status", status(undefined)],
  ["TDX claims without a status", "space-tcb-status", status({})],
  [
    "two TDX claims",
    "space-tcb-status",
    status([{ gcp_attester_tcb_status: "UpToDate" }, { gcp_attester_tcb_status: "OutOfDate" }]),
  ],
  ["another project", "space-project", { accept: { projects: ["other"] } }],
])
