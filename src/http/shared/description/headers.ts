/** The header fields of responses, which the API's schemas lack where a layer in front of the API sets them. */

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
    description: "After how many seconds another try may succeed.",
    schema: { type: "integer", minimum: 0 },
    example: 12,
  },
  "ratelimit-policy": text(
    "The limits that this request counts against: how many requests (`q`) in how many seconds (`w`). Absent where there is none.",
    '"read-per-tenant";q=600;w=60',
  ),
  ratelimit: text(
    "What is left of each limit (`r`), and in how many seconds it is whole again (`t`).",
    '"read-per-tenant";r=0;t=12',
  ),
  etag: text("The version of what was sent, for `If-Match`.", '"1"'),
  location: text("Where the new resource can be read.", "/api/v1/jobs/01a20189-2d78-7781-9ee0-356bac85203e"),
  "www-authenticate": text(
    "What is wrong with the token (RFC 6750).",
    'Bearer realm="sealgate", error="invalid_token"',
  ),
} as const satisfies Readonly<Record<string, Field>>

const EVERYWHERE = ["ratelimit-policy", "ratelimit"] as const

/** Beside those that everything has. */
const BY_STATUS: Readonly<Record<string, ReadonlyArray<keyof typeof FIELDS>>> = {
  401: ["www-authenticate"],
  429: ["retry-after"],
  503: ["retry-after"],
}

const isKnown = (name: string): name is keyof typeof FIELDS => Object.hasOwn(FIELDS, name)

/** The fields of an answer with `status`; `declared` are those that the API's types have. */
export const headersOf = (status: string, declared: Readonly<Record<string, object>>): Record<string, Header> => {
  const names = [...Object.keys(declared).filter(isKnown), ...EVERYWHERE, ...(BY_STATUS[status] ?? [])]
  return Object.fromEntries(
    names.map((name): [string, Header] => {
      const required = name in declared || (status === "429" && name === "retry-after")
      return [name, { ...FIELDS[name], required }]
    }),
  )
}
