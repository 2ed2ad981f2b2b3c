/** Statements that are none of the pinned identity, or that say what it never says. */
import { createHash } from "node:crypto"
import { Point } from "@noble/ed25519"
import * as reference from "../reference.ts"
import { b64u, bytes, type Claims, fromB64u, fromHex, text } from "../reference.ts"
import { fromLittleEndian, littleEndian, ORDER, PRIME } from "./points.ts"

/** Somebody else's signing key. */
export const OTHER = reference.identityFrom(Buffer.alloc(32, 0x5a))

export const headerOf = (identity: reference.Identity, kind: string) => ({
  alg: "Ed25519",
  typ: `sealgate-${kind}+jwt`,
  kid: identity.kid,
})

const SECRET_R = 0x1234_5678_9abc_def0n
/** A point of order 8. */
const TORSION = Point.fromBytes(fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), false)
const MIXED_R = Buffer.from(Point.BASE.multiply(SECRET_R).add(TORSION).toBytes())

/** Signs as the identity does, but with `R`, which is the point of `r`, or is once both are multiplied by the cofactor. */
const signWithR = (identity: reference.Identity, statement: string, R: Buffer, r = 0n): string => {
  const input = statement.slice(0, statement.lastIndexOf("."))
  const secret = createHash("sha512").update(identity.seed).digest().subarray(0, 32)
  secret[0] = (secret[0] ?? 0) & 248
  secret[31] = ((secret[31] ?? 0) & 63) | 64
  const k = fromLittleEndian(createHash("sha512").update(R).update(identity.publicKey).update(text(input)).digest())
  return `${input}.${b64u(bytes(R, littleEndian((r + k * fromLittleEndian(secret)) % ORDER)))}`
}

/** Ways to sign claims that are no statement of the identity: each gives the statement in place of the right one. */
export const wrongSignatures = (identity: reference.Identity, kind: "session" | "receipt" | "proof") => {
  const right = (claims: Claims) => reference.statement(identity, kind, claims).statement
  const withHeader = (header: object) => (claims: Claims) =>
    reference.jws(identity.seed, header, { iss: identity.kid, version: 2, ...claims }).statement
  const header = headerOf(identity, kind)
  const changed = (change: (signature: Buffer) => Buffer) => (claims: Claims) => {
    const [protectedPart, payload, signature = ""] = right(claims).split(".")
    return `${protectedPart}.${payload}.${b64u(change(fromB64u(signature)))}`
  }
  const ways: ReadonlyArray<readonly [rule: string, why: string, (claims: Claims) => string]> = [
    ["C8", "a statement of four parts", (claims) => `${right(claims)}.`],
    ["C8", "a statement whose signature is padded", (claims) => `${right(claims)}==`],
    ["C8", "a signature of 63 bytes", changed((signature) => signature.subarray(0, 63))],
    ["C9", "a header with a fourth member", withHeader({ ...header, jwk: identity.jwk })],
    ["C9", "a header without kid", withHeader({ alg: header.alg, typ: header.typ })],
    ["C9", "the algorithm EdDSA", withHeader({ ...header, alg: "EdDSA" })],
    ["C9", "the algorithm none", withHeader({ ...header, alg: "none" })],
    ["C9", "a statement of another type", withHeader(headerOf(identity, kind === "proof" ? "receipt" : "proof"))],
    ["C9", "a kid that is no thumbprint", withHeader({ ...header, kid: "proxy" })],
    [
      "C11",
      "a signature with one bit changed",
      changed((signature) => bytes(Buffer.of((signature[0] ?? 0) ^ 1), signature.subarray(1))),
    ],
    [
      "C11",
      "a signature whose S is not below the order of the group",
      changed((signature) =>
        bytes(signature.subarray(0, 32), littleEndian(fromLittleEndian(signature.subarray(32)) + ORDER)),
      ),
    ],
    ["C11", "a signature whose R is of small order", (claims) => signWithR(identity, right(claims), littleEndian(1n))],
    [
      "C11",
      "a signature whose R is not canonical",
      (claims) => signWithR(identity, right(claims), littleEndian(PRIME + 1n)),
    ],
    [
      "C11",
      "a signature that is right but for the cofactor",
      (claims) => signWithR(identity, right(claims), MIXED_R, SECRET_R),
    ],
    ["C12", "an issuer other than the key", (claims) => right({ ...claims, iss: OTHER.kid })],
    ["C13", "a statement of version 1", (claims) => right({ ...claims, version: 1 })],
    [
      "C2",
      "claims with a member twice",
      (claims) =>
        reference.signParts(
          identity.seed,
          text(JSON.stringify(header)),
          text(JSON.stringify({ iss: identity.kid, version: 2, ...claims }).replace("{", '{"iat":1,')),
        ).statement,
    ],
  ]
  return ways
}
