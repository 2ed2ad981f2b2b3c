/** Binding of evidence to key, configuration and nonces, and the policy that judges it. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { bindingOf, rootOf } from "../../src/attestation/binding.ts"
import { EvidenceFailure } from "../../src/attestation/failure.ts"
import { decodePolicy } from "../../src/attestation/readPolicy.ts"
import { NonceTree } from "../../src/services/evidence/NonceTree.ts"

const sha256 = (...parts: ReadonlyArray<Uint8Array>) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest()
const nonces = (count: number) => Array.from({ length: count }, (_, i) => Uint8Array.from(sha256(Uint8Array.of(i))))
const hex = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString("hex"))

describe("binding", () => {
  it("hashes label, kid, configuration and root", () => {
    const [kid, root, configuration] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2), Buffer.from("{}")]
    const expected = sha256(Buffer.from("sealgate evidence 1"), kid, sha256(configuration), root)
    assert.strictEqual(hex(bindingOf({ kid, configuration, root })), expected.toString("hex"))
  })

  it("does not lead from another nonce, index or size to the root", () => {
    const leaves = nonces(7)
    const [first = new Uint8Array(32), second = new Uint8Array(32)] = leaves
    const tree = new NonceTree(leaves)
    const path = { index: 0, size: tree.size, hashes: tree.pathFor(0) }
    assert.strictEqual(hex(rootOf(first, path)), hex(tree.root))
    for (const wrong of [
      rootOf(second, path),
      rootOf(first, { ...path, index: 1 }),
      rootOf(first, { ...path, size: 4 }),
    ]) {
      assert.notStrictEqual(hex(wrong), hex(tree.root))
    }
    assert.isUndefined(rootOf(first, { ...path, hashes: path.hashes.slice(1) }))
    assert.isUndefined(rootOf(first, { ...path, index: 7 }))
  })
})

describe("policy", () => {
  const policy = {
    accept: [
      {
        format: "sev-snp",
        measurements: ["00".repeat(48)],
        products: ["Genoa"],
        minimum_tcb: { bootloader: 1, tee: 0, snp: 2, microcode: 3 },
      },
    ],
    configuration: {
      software: [{ version: "sealgate/0.1.0", digest: "A".repeat(43) }],
      origins: ["https://api.openai.com"],
      vendors: ["OpenAI"],
      telemetry: "none",
      extra_ca: [],
      node: { versions: ["v26.0.0"], flags: [] },
      key_storage: ["memory"],
    },
    deny: { chips: [], kids: [] },
    expires: 1,
  }
  const codeOf = (claims: unknown): string => {
    try {
      decodePolicy(claims)
      return "decoded"
    } catch (error) {
      if (error instanceof EvidenceFailure) return error.code
      throw error
    }
  }
  const [entry] = policy.accept

  it("decodes", () => assert.strictEqual(codeOf(policy), "decoded"))

  const wrong: Readonly<Record<string, unknown>> = {
    "an unknown member": { ...policy, root: "" },
    "an unknown member of an entry": { ...policy, accept: [{ ...entry, debug: true }] },
    "an unknown format": { ...policy, accept: [{ ...entry, format: "sev" }] },
    "an unknown product": { ...policy, accept: [{ ...entry, products: ["Rome"] }] },
    "a short measurement": { ...policy, accept: [{ ...entry, measurements: ["00"] }] },
    "no code at all": { ...policy, accept: [{ ...entry, measurements: undefined }] },
    "no software": { ...policy, configuration: { ...policy.configuration, software: [] } },
    "a URL as an origin": {
      ...policy,
      configuration: { ...policy.configuration, origins: ["https://api.openai.com/v1"] },
    },
    "no expiry": { ...policy, expires: undefined },
    "no deny": { ...policy, deny: undefined },
    "text as claims": "policy",
  }
  for (const [name, claims] of Object.entries(wrong)) {
    it(`rejects ${name}`, () => assert.strictEqual(codeOf(claims), "policy-malformed"))
  }
})
