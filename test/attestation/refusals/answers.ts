/** Answers of a proxy that are malformed, or that bind other things. */
import { decodeEvidence, type ProxyEvidence } from "../../../src/attestation/evidence.ts"
import { proveAttestation, verifyAttestation } from "../../../src/attestation/verifyAttestation.ts"
import { encodeBase64Url, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { vendorCollateral } from "../../../src/collateral/vendorCollateral.ts"
import { CONFIGURATION } from "../support/configuration.ts"
import { snp, type SnpWish } from "../support/snp.ts"
import { space } from "../support/space.ts"
import { tdx } from "../support/tdx.ts"
import { BINDING, NOW } from "../support/world.ts"
import { type Refusal, refusalsOf } from "./refusal.ts"

/** The JSON value that {@link decodeEvidence} reads. */
const encodeEvidence = ({ format, kid, configuration, report, collateral, path }: ProxyEvidence) => ({
  format,
  kid: encodeBase64Url(kid),
  configuration: encodeBase64Url(configuration),
  report: encodeBase64Url(report),
  ...(collateral === undefined ? {} : { collateral: encodeBase64Url(collateral) }),
  path: { index: path.index, size: path.size, hashes: path.hashes.map(encodeBase64Url) },
})

const answer = encodeEvidence(snp().evidence)
const decoding = (name: string, change: object): Refusal => [
  name,
  "answer-malformed",
  () => decodeEvidence({ ...answer, ...change }),
]

const HASH = "A".repeat(43)

const answers: ReadonlyArray<Refusal> = [
  ["an answer that is a list", "answer-malformed", () => decodeEvidence([])],
  decoding("an unknown format", { format: "sgx" }),
  decoding("a short kid", { kid: "AAAA" }),
  decoding("a report with padding", { report: "AA==" }),
  decoding("no configuration", { configuration: undefined }),
  decoding("a report of a megabyte", { report: "A".repeat(1_400_000) }),
  decoding("collateral that is an object", { collateral: {} }),
  decoding("no path", { path: undefined }),
  decoding("a path of 33 hashes", { path: { index: 0, size: 2, hashes: Array.from({ length: 33 }, () => HASH) } }),
  decoding("a path with a short hash", { path: { index: 0, size: 2, hashes: ["AAAA"] } }),
  decoding("an index that is text", { path: { index: "0", size: 1, hashes: [] } }),
]

const other = new Uint8Array(32).fill(1)
const policyOf = (change: object) => (check: ReturnType<typeof snp>) => ({
  ...check,
  policy: { ...check.policy, ...change },
})
const evidenceOf = (change: object) => (check: ReturnType<typeof snp>) => ({
  ...check,
  evidence: { ...check.evidence, ...change },
})

const claims = refusalsOf<SnpWish>(snp, [
  ["a policy that has expired", "policy-expired", { check: policyOf({ expires: 1 }) }],
  [
    "a denied key",
    "kid-denied",
    { check: policyOf({ deny: { chips: [], kids: [Buffer.alloc(32, 9).toString("base64url")] } }) },
  ],
  ["a format without an entry", "format-not-accepted", { check: (check) => ({ ...check, policy: tdx().policy }) }],
  ["an index beyond the tree", "path-wrong", { check: evidenceOf({ path: { index: 1, size: 1, hashes: [] } }) }],
  ["a path with a hash too few", "path-wrong", { check: evidenceOf({ path: { index: 0, size: 2, hashes: [] } }) }],
  [
    "a path with a hash too many",
    "path-wrong",
    { check: evidenceOf({ path: { index: 0, size: 1, hashes: [other] } }) },
  ],
  ["an empty tree", "path-wrong", { check: evidenceOf({ path: { index: 0, size: 0, hashes: [] } }) }],
  ["evidence of an hour ago, for another nonce", "binding-differs", { check: (check) => ({ ...check, nonce: other }) }],
  ["evidence relayed for another key", "binding-differs", { check: evidenceOf({ kid: other }) }],
  [
    "another configuration than was attested",
    "binding-differs",
    { check: evidenceOf({ configuration: utf8(JSON.stringify({ ...CONFIGURATION, redis: true })) }) },
  ],
  [
    "two bindings side by side in the report data, as a relay would need",
    "binding-differs",
    { report: (report) => report.set(BINDING, 0x70) },
  ],
  [
    "a binding behind zeros",
    "binding-differs",
    { report: (report) => report.copyWithin(0x70, 0x50, 0x70).fill(0, 0x50, 0x70) },
  ],
])

const withNone = { kind: "none" } as const

export const ANSWER_REFUSALS: ReadonlyArray<Refusal> = [
  ...answers,
  ...claims,
  ["SEV-SNP without collateral", "collateral-missing", () => verifyAttestation({ ...snp(), collateral: withNone })],
  [
    "TDX with AMD's collateral",
    "collateral-missing",
    () => verifyAttestation({ ...tdx(), collateral: snp().collateral }),
  ],
  [
    "SEV-SNP with Intel's collateral",
    "collateral-missing",
    () => verifyAttestation({ ...snp(), collateral: tdx().collateral }),
  ],
  [
    "a vendor's service that is down",
    "collateral-unavailable",
    () =>
      proveAttestation(
        tdx(),
        vendorCollateral(async () => new Response("", { status: 503 })),
        () => NOW,
      ),
  ],
  ["a token for another nonce", "binding-differs", () => verifyAttestation({ ...space(), nonce: other })],
]
