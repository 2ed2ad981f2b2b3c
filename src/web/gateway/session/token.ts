/** What a token says of its owner. Read for display only: whether it counts is for the gateway to say. */
import { Option, Schema } from "effect"
import { ADMIN_ROLE } from "../../../domain/access/identity.ts"

const Claims = Schema.Struct({
  sub: Schema.String,
  exp: Schema.Finite,
  tenant: Schema.optionalKey(Schema.String),
  roles: Schema.optionalKey(Schema.Array(Schema.String)),
})

export interface Owner {
  readonly subject: string
  /** `undefined` where the token names none: then it counts only at a gateway whose users are tenants. */
  readonly tenant: string | undefined
  readonly roles: ReadonlyArray<string>
  readonly admin: boolean
  /** Milliseconds since the epoch, and a moment that a `Date` can be: tokens may name one far beyond. */
  readonly expires: number
}

/** The last moment that a `Date` can be, in milliseconds since the epoch; the first one is as far on the other side. */
const LAST_MOMENT = 8.64e15

const decodeClaims = Schema.decodeUnknownOption(Schema.fromJsonString(Claims))

const utf8 = (base64Url: string): string | undefined => {
  try {
    const binary = atob(base64Url.replaceAll("-", "+").replaceAll("_", "/"))
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(binary, (byte) => byte.charCodeAt(0)))
  } catch {
    // Not base64url of UTF-8, so not a part of a token.
    return undefined
  }
}

/** Who a token is for; `undefined` if it is not a JSON Web Token with the claims that the gateway asks for. */
export const ownerOf = (token: string): Owner | undefined => {
  const [, payload, signature, ...rest] = token.split(".")
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined
  const claims = Option.getOrUndefined(decodeClaims(utf8(payload)))
  if (claims === undefined) return undefined
  const roles = claims.roles ?? []
  return {
    subject: claims.sub,
    tenant: claims.tenant,
    roles,
    admin: roles.includes(ADMIN_ROLE),
    expires: Math.max(-LAST_MOMENT, Math.min(LAST_MOMENT, claims.exp * 1000)),
  }
}
