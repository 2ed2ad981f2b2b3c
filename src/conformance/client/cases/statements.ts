/** Forged statements: the same forgeries for each kind, because a client may check one kind and skip another. */
import { omit } from "../../omit.ts"
import { createHmac } from "node:crypto"
import { STATEMENT_TYPES, type StatementKind } from "../../../domain/protocol/statement.ts"
import { type Case, refused } from "../Case.ts"
import { MALLEABLE, signEd25519 } from "../../lyingProxy/Identity.ts"
import type { Forgery } from "../../lyingProxy/Lie.ts"
import { b64u, bytes } from "../../lyingProxy/reference.ts"
import { withUnusedBit } from "../../spelling.ts"

const OTHER_TYPE = { session: STATEMENT_TYPES.receipt, receipt: STATEMENT_TYPES.proof, proof: STATEMENT_TYPES.receipt }

const partsOf = (statement: string) => {
  const [header = "", claims = "", signature = ""] = statement.split(".")
  return { header, claims, signature }
}

const STRANGER: Forgery = { byStranger: "own" }

type Row = readonly [must: string, name: string, says: string, forgery: Forgery]

export const forgeries = (kind: StatementKind): ReadonlyArray<Row> => [
  ["C9", "alg-eddsa", "whose alg is EdDSA", { header: (header) => ({ ...header, alg: "EdDSA" }) }],
  [
    "C9",
    "alg-none",
    "whose alg is none",
    { header: (header) => ({ ...header, alg: "none" }), sign: () => new Uint8Array() },
  ],
  [
    "C9",
    "alg-hs256",
    "whose alg is HS256, with a MAC under the public key",
    {
      header: (header) => ({ ...header, alg: "HS256" }),
      sign: (message, { publicKey }) => createHmac("sha256", publicKey).update(message).digest(),
    },
  ],
  ["C9", "alg-missing", "without an alg", { header: (header) => omit(header, "alg") }],
  ["C9", "typ-other", "of the type of another kind", { header: (header) => ({ ...header, typ: OTHER_TYPE[kind] }) }],
  ["C9", "typ-missing", "without a typ", { header: (header) => omit(header, "typ") }],
  [
    "C9",
    "typ-case",
    "whose typ is in capitals",
    { header: (header) => ({ ...header, typ: String(header["typ"]).toUpperCase() }) },
  ],
  ["C9", "kid-missing", "without a kid", { header: (header) => omit(header, "kid") }],
  ["C9", "kid-word", "whose kid is no thumbprint", { header: (header) => ({ ...header, kid: "proxy" }) }],
  [
    "C9",
    "kid-padded",
    "whose kid is spelled with padding",
    { header: (header) => ({ ...header, kid: `${String(header["kid"])}=` }) },
  ],
  ["C9", "crit", "with a fourth member in its header", { header: (header) => ({ ...header, crit: ["exp"] }) }],
  ["C9", "header-array", "whose header is no object", { header: (header) => [header] }],
  ["C11", "stranger", "that a stranger signed under the pinned kid", { byStranger: true }],
  [
    kind === "receipt" ? "C40" : "C10",
    "stranger-kid",
    "that a stranger signed under a kid of its own, and whose key is shown",
    STRANGER,
  ],
  [
    "C11",
    "bit",
    "whose signature has a wrong bit",
    { whole: (text) => `${text.slice(0, -9)}${text.at(-9) === "A" ? "B" : "A"}${text.slice(-8)}` },
  ],
  ["C11", "high-s", "whose S is not below the order of the group", { sign: MALLEABLE.highS }],
  ["C11", "small-r", "whose R is of small order", { sign: MALLEABLE.smallR }],
  ["C11", "non-canonical-r", "whose R is not canonical", { sign: MALLEABLE.nonCanonicalR }],
  ["C11", "zero", "whose signature is all zero", { sign: () => new Uint8Array(64) }],
  ["C11", "mixed-r", "whose signature is right but for the cofactor", { sign: MALLEABLE.mixedR }],
  ["C11", "short", "whose signature has 63 bytes", { sign: (...to) => signEd25519(...to).subarray(0, 63) }],
  ["C11", "long", "whose signature has 65 bytes", { sign: (...to) => bytes(signEd25519(...to), Buffer.alloc(1)) }],
  ["C8", "unused-bits", "whose signature has unused bits that are not zero", { whole: withUnusedBit }],
  ["C8", "padded", "whose signature is padded", { whole: (text) => `${text}==` }],
  ["C8", "two-parts", "of two parts", { whole: (text) => text.slice(0, text.lastIndexOf(".")) }],
  ["C8", "four-parts", "of four parts", { whole: (text) => `${text}.${partsOf(text).signature}` }],
  ["C8", "white-space", "with a line feed at its end", { whole: (text) => `${text}\n` }],
  ["C8", "json-form", "in the JSON form of JWS", { whole: (text) => flattened(text) }],
  [
    "C12",
    "iss-other",
    "whose iss is somebody else",
    { claims: (claims) => ({ ...claims, iss: b64u(new Uint8Array(32)) }) },
  ],
  ["C12", "iss-missing", "without iss", { claims: (claims) => omit(claims, "iss") }],
  ["C13", "version-1", "of version 1", { claims: (claims) => ({ ...claims, version: 1 }) }],
  ["C13", "version-3", "of version 3", { claims: (claims) => ({ ...claims, version: 3 }) }],
  ["C13", "version-text", "whose version is the text 2", { claims: (claims) => ({ ...claims, version: "2" }) }],
  ["C13", "version-missing", "without a version", { claims: (claims) => omit(claims, "version") }],
  ["C12", "claims-array", "whose claims are no object", { claims: (claims) => [claims] }],
  ["C12", "iat-missing", "without iat", { claims: (claims) => omit(claims, "iat") }],
]

const flattened = (text: string) => {
  const { claims, header, signature } = partsOf(text)
  return { protected: header, payload: claims, signature }
}

const ofKind = (kind: StatementKind): ReadonlyArray<Case> =>
  forgeries(kind).map(([must, name, says, forgery]) =>
    refused(must, `${kind}-${name}`, `gives a ${kind} statement ${says}`, {
      [kind]: forgery,
      ...(kind === "proof" && { form: "stream" as const }),
    }),
  )

export const statements: ReadonlyArray<Case> = [...ofKind("session"), ...ofKind("receipt"), ...ofKind("proof")]
