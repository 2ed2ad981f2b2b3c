/** Signed statements, each with the changes of a forgery. */
import type { JsonObject } from "../../domain/json/json.ts"
import type { ClaimsOf, StatementKind } from "../../domain/protocol/statement.ts"
import { type LyingIdentity, signEd25519 } from "./Identity.ts"
import { bytesOf, type Forgery } from "./Lie.ts"
import { b64u, text } from "./reference.ts"

export interface Signers {
  readonly pinned: LyingIdentity
  readonly stranger: LyingIdentity
}

/** Claims of a statement before its signer adds `iss` and `version`. */
export type Unsigned<Kind extends StatementKind> = Omit<ClaimsOf[Kind], "iss" | "version">

export interface Statement {
  readonly claims: JsonObject
  readonly signingInput: string
  readonly statement: string
}

export const signParts = (identity: LyingIdentity, header: Uint8Array, claims: Uint8Array, sign = signEd25519) => {
  const signingInput = `${b64u(header)}.${b64u(claims)}`
  return { signingInput, statement: `${signingInput}.${b64u(sign(text(signingInput), identity))}` }
}

export const state = (
  { pinned, stranger }: Signers,
  kind: StatementKind,
  claims: object,
  forgery: Forgery = {},
): Statement => {
  const signer = forgery.byStranger === undefined ? pinned : stranger
  const { kid } = forgery.byStranger === "own" ? stranger : pinned
  const header = { alg: "Ed25519", typ: `sealgate-${kind}+jwt`, kid }
  const honest = { iss: kid, version: 2, ...claims }
  const signed = signParts(
    signer,
    bytesOf(forgery.header?.(header) ?? header),
    bytesOf(forgery.claims?.(honest) ?? honest),
    forgery.sign,
  )
  // A hook may return any JSON value in place of the text.
  const statement = (forgery.whole?.(signed.statement) ?? signed.statement) as string
  return { claims: honest, signingInput: signed.signingInput, statement }
}
