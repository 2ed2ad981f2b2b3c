/** The header fields of responses, including those that middleware adds and the API's schemas lack. */

interface Field {
  readonly description: string
  readonly schema: object
  readonly example: unknown
}

interface Header extends Field {
  readonly required: boolean
}

const text = (description: string, example: unknown): Field => ({ description, schema: { type: "string" }, example })

const FIELDS = {
  "retry-after": {
    description: "Seconds after which another try may succeed.",
    schema: { type: "integer", minimum: 0 },
    example: 12,
  },
  "ratelimit-policy": text(
    "The limits that this request counts against: requests (`q`) per seconds (`w`). Absent without a limit.",
    '"read-per-tenant";q=600;w=60',
  ),
  ratelimit: text(
    "Remaining requests of each limit (`r`), and seconds until it is full again (`t`).",
    '"read-per-tenant";r=0;t=12',
  ),
  etag: text("The version of the resource, for `If-Match`.", '"1"'),
  location: text("Where the new resource can be read.", "/api/v1/jobs/01a20189-2d78-7781-9ee0-356bac85203e"),
  "www-authenticate": text("Why the token was refused (RFC 6750).", 'Bearer realm="sealgate", error="invalid_token"'),
} as const satisfies Readonly<Record<string, Field>>

const EVERYWHERE = ["ratelimit-policy", "ratelimit"] as const

/** In addition to those of every response. */
const BY_STATUS: Readonly<Record<string, ReadonlyArray<keyof typeof FIELDS>>> = {
  401: ["www-authenticate"],
  429: ["retry-after"],
  503: ["retry-after"],
}

const isKnown = (name: string): name is keyof typeof FIELDS => Object.hasOwn(FIELDS, name)

/** The fields of a response with `status`; `declared` are those in the API's schemas. */
export const headersOf = (status: string, declared: Readonly<Record<string, object>>): Record<string, Header> => {
  const names = [...Object.keys(declared).filter(isKnown), ...EVERYWHERE, ...(BY_STATUS[status] ?? [])]
  return Object.fromEntries(
    names.map((name): [string, Header] => {
      const required = name in declared || (status === "429" && name === "retry-after")
      return [name, { ...FIELDS[name], required }]
    }),
  )
}
