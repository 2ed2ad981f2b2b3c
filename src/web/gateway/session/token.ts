/** Reads the claims of a token for display. Only the gateway verifies it. */
import { Option, Schema } from "effect"
import { decodeBase64Url } from "../../../domain/bytes/bytes.ts"
import { parseIJson } from "../../../domain/json/iJson.ts"
import { ADMIN_ROLE, hasRole, isNamed } from "../../../domain/access/roles.ts"

const Claims = Schema.Struct({
  sub: Schema.String,
  exp: Schema.Finite,
  tenant: Schema.optionalKey(Schema.String),
  roles: Schema.optionalKey(Schema.Array(Schema.String)),
})

export interface Owner {
  readonly subject: string
  /** `undefined` if the token names none, which only a gateway that treats users as tenants accepts. */
  readonly tenant: string | undefined
  readonly roles: ReadonlyArray<string>
  readonly admin: boolean
  /** Whether it may run tasks, and cancel and answer jobs. */
  readonly runs: boolean
  /** Whether it may change agents. */
  readonly changes: boolean
  /** Whether it may manage keys. */
  readonly manages: boolean
  /** Milliseconds since the epoch, clamped to the range of `Date`. */
  readonly expires: number
}

/** The latest `Date`, in milliseconds since the epoch; the earliest is its negative. */
const LAST_MOMENT = 8.64e15

const decodeClaims = Schema.decodeUnknownOption(Claims)

const jsonIn = Option.liftThrowable((base64Url: string) => parseIJson(decodeBase64Url(base64Url) ?? ""))

/** Returns the owner of a token; `undefined` if it is no JSON Web Token with the required claims. */
export const ownerOf = (token: string): Owner | undefined => {
  const [, payload, signature, ...rest] = token.split(".")
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined
  const claims = Option.getOrUndefined(Option.flatMap(jsonIn(payload), decodeClaims))
  if (claims === undefined) return undefined
  return {
    subject: claims.sub,
    tenant: claims.tenant,
    roles: claims.roles ?? [],
    admin: isNamed(claims, ADMIN_ROLE),
    runs: hasRole(claims, "run"),
    changes: hasRole(claims, "manage"),
    manages: isNamed(claims, "manage"),
    expires: Math.max(-LAST_MOMENT, Math.min(LAST_MOMENT, claims.exp * 1000)),
  }
}
