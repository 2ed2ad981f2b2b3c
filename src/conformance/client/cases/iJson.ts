/** JSON that is not I-JSON, wherever a client reads JSON. */
import { bytes, text } from "../../lyingProxy/reference.ts"
import { type Case, type CaseOptions, refused } from "../Case.ts"
import type { Replacement } from "../../lyingProxy/Lie.ts"

type Spoil = (value: Replacement) => Replacement

const textOf = (value: Replacement): string => JSON.stringify(value)
/** Returns the JSON of an object with `first` before its first member. */
const beginning = (value: Replacement, first: string): string => `{${first},${textOf(value).slice(1)}`
const firstMember = (value: Replacement): readonly [name: string, value: unknown] =>
  Object.entries(Object(value))[0] ?? ["", null]

const WAYS: ReadonlyArray<readonly [name: string, says: string, spoil: Spoil]> = [
  [
    "member-twice",
    "has a member twice",
    (value) => {
      const [name, first] = firstMember(value)
      return beginning(value, `${JSON.stringify(name)}:${JSON.stringify(first)}`)
    },
  ],
  [
    "member-twice-escaped",
    "has a member twice, once with an escape in its name",
    (value) => {
      const [name, first] = firstMember(value)
      const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`
      return beginning(value, `"${escaped}":${JSON.stringify(first)}`)
    },
  ],
  ["byte-order-mark", "begins with a byte order mark", (value) => `\uFEFF${textOf(value)}`],
  ["half-pair", "has half of a surrogate pair", (value) => beginning(value, '"note":"\\ud83e"')],
  ["half-pair-in-name", "has half of a surrogate pair in a name", (value) => beginning(value, '"\\udd6d":0')],
  [
    "no-utf-8",
    "is no UTF-8",
    (value) => bytes(text('{"note":"'), Buffer.of(0xff), text(`",${textOf(value).slice(1)}`)),
  ],
  [
    "surrogate-bytes",
    "has a surrogate in the bytes of UTF-8",
    (value) => bytes(text('{"note":"'), Buffer.of(0xed, 0xa0, 0x80), text(`",${textOf(value).slice(1)}`)),
  ],
]

interface Place {
  readonly name: string
  readonly says: string
  readonly lie: (spoil: Spoil) => CaseOptions
}

const PLACES: ReadonlyArray<Place> = [
  { name: "offer", says: "the answer to init", lie: (spoil) => ({ offer: spoil }) },
  { name: "session", says: "the claims of the session statement", lie: (spoil) => ({ session: { claims: spoil } }) },
  { name: "receipt", says: "the claims of the receipt", lie: (spoil) => ({ receipt: { claims: spoil } }) },
  { name: "proof", says: "the claims of the proof", lie: (spoil) => ({ form: "stream", proof: { claims: spoil } }) },
  { name: "record", says: "the end record", lie: (spoil) => ({ record: spoil }) },
  {
    name: "frame",
    says: "the payload of the first frame",
    lie: (spoil) => ({ payloads: ([first, ...more]) => [spoil(first), ...more] }),
  },
  { name: "body", says: "the body of a complete answer", lie: (spoil) => ({ body: spoil }) },
  ...(["open", "frame", "proof"] as const).map((event): Place => ({
    name: `${event}-event`,
    says: `an event ${event}`,
    lie: (spoil) => ({
      events: (events) => {
        const at = events.findIndex((each) => each.event === event)
        return events.map((each, i) => (i === at ? { event, data: spoil(each.data) } : each))
      },
    }),
  })),
]

/** Changes that also apply to statement headers: others would break the rule that a header has exactly three members. */
const IN_HEADERS = new Set(["member-twice", "member-twice-escaped", "byte-order-mark"])

const inHeaders = (name: string, says: string, spoil: Spoil): ReadonlyArray<Case> =>
  IN_HEADERS.has(name)
    ? [
        refused("C2", `i-json-header-${name}`, `${says} in the header of the session statement`, {
          session: { header: spoil },
        }),
      ]
    : []

export const iJson: ReadonlyArray<Case> = WAYS.flatMap(([name, says, spoil]) => [
  ...inHeaders(name, says, spoil),
  ...PLACES.map((place) => refused("C2", `i-json-${place.name}-${name}`, `${says} in ${place.says}`, place.lie(spoil))),
])
