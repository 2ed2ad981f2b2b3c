/** Compares the protocol's pages with the tables of the code, the API's description and the vectors. */
import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedStreamEvent } from "../../src/api/proxy/SealedApi.ts"
import { failureCodes, failureRules } from "../../src/domain/upstream/failures.ts"
import { TokenKeysUnavailable, TokenRefused } from "../../src/domain/access/identity.ts"
import { PROBLEM_CONTENT_TYPE } from "../../src/domain/problems/problem.ts"
import { API_HEADERS, API_NAMES, apiOf, type ApiVendor } from "../../src/domain/upstream/apis.ts"
import { RESPONSE_TEXTS } from "../../src/domain/chat/eventTexts.ts"
import { STATEMENT_TYPES } from "../../src/domain/protocol/statement.ts"
import { SUITES } from "../../src/domain/protocol/suites.ts"
import { FORM, MEDIA_TYPE } from "../../src/domain/protocol/transcript.ts"
import { CLAIM_NAMES } from "../../src/conformance/lyingProxy/claimNames.ts"
import { pages, registries, specification } from "../support/protocol/pages.ts"
import { negatives, published } from "../support/protocol/published.ts"
import { startProxy } from "../support/proxy.ts"

const section = (text: string, title: string): string => {
  const [, body] = new RegExp(`^## ${title}$(.*?)(?=^## |(?![\\s\\S]))`, "ms").exec(text) ?? []
  if (body === undefined) throw new Error(`there is no section ${title}`)
  return body
}

/** Returns the matches of a pattern in the rows of a section. */
const rows = (text: string, title: string, pattern: RegExp): ReadonlyArray<string> =>
  Array.from(section(text, title).matchAll(pattern), ([, ...cells]) => cells.join(" "))

const named = (text: string, title: string) => rows(text, title, /^\| `([^`]+)` \|/gm)

/** Returns status and code of the problems in the list that a sentence introduces. */
const problems = (introduction: string): ReadonlyArray<string> => {
  const [, body = ""] = new RegExp(`^${introduction}[^]*?\\n\\n((?:- .*\\n)+)`, "m").exec(registries) ?? []
  return Array.from(body.matchAll(/^- (\d{3}): (.*)$/gm), ([, status, codes = ""]) =>
    Array.from(codes.matchAll(/`([a-z-]+)`/g), ([, code]) => `${status} ${code}`),
  ).flat()
}

interface Described {
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

describe("the registries", () => {
  it.live("list exactly the problems outside the seal", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const { paths } = yield* Effect.promise(async () => {
        const response = await fetch(`${proxy.url}/openapi.json`)
        return (await response.json()) as { readonly paths: Readonly<Record<string, { readonly post: Described }>> }
      })
      const declared = ["/v1/init", "/v1/completions"].flatMap((path) =>
        Object.entries(paths[path]?.post.responses ?? {}).flatMap(([status, { description }]) =>
          Array.from(description.matchAll(/`([a-z-]+)`/g), ([, code]) => `${status} ${code}`),
        ),
      )
      assert.sameMembers([...problems("Outside the seal")], [...new Set(declared)])
    }),
  )

  it("list exactly the problems under the seal", () => {
    const folder = "src/services/sealing"
    const sources = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, "utf8"))
    const own = sources.flatMap((text) => [
      ...Array.from(text.matchAll(/status: (\d{3}),\s*code: "([a-z-]+)"/g), ([, status, code]) => `${status} ${code}`),
      ...Array.from(text.matchAll(/code: "([a-z-]+)",\s*status: (\d{3})/g), ([, code, status]) => `${status} ${code}`),
    ])
    assert.isAtLeast(own.length, 7)
    const ofProviders = Object.entries(failureCodes).map(([code, { status }]) => `${status} ${code}`)
    const ofCallers = [new TokenRefused(), new TokenKeysUnavailable()].map(({ code, status }) => `${status} ${code}`)
    assert.sameMembers([...problems("Under the seal")], [...new Set([...own, ...ofProviders, ...ofCallers])])
  })

  it("list exactly the restart reasons", () => {
    // Other failures are not restarted.
    const reasons = Object.entries(failureRules).filter(([, { failover, retry }]) => failover || retry)
    assert.sameMembers(
      Array.from(section(registries, "Restart reasons").matchAll(/`([a-z-]+)`/g), ([, name]) => name).filter(
        (name) => name !== "reason" && name !== "restart",
      ),
      reasons.map(([kind]) => kind),
    )
  })

  it("list exactly the labels", () => {
    const source = readFileSync("src/domain/protocol/transcript.ts", "utf8")
    const labels = Array.from(source.matchAll(/label\("([a-z-]+)"\)/g), ([, name = ""]) => name)
    const listed = rows(registries, "Labels", /^\| (`[^|]+`) \|/gm).flatMap((cell) => cell.match(/[a-z-]+/g) ?? [])
    assert.sameMembers(
      listed.filter((name) => name !== "s"),
      labels,
    )
    assert.sameMembers(
      published.labels.map(({ name }) => name),
      labels,
    )
  })

  it("list exactly the media types, APIs, headers and text events", () => {
    assert.sameMembers(
      [...named(registries, "Media types")],
      ["application/json", PROBLEM_CONTENT_TYPE, ...Object.values(MEDIA_TYPE)],
    )
    const apis = rows(registries, "APIs", /^\| `([^`]+)` \|.*\| (?:`(true|false)`|-) \|[^|]*\|$/gm)
    assert.deepStrictEqual(
      apis,
      API_NAMES.map((name) => `${name} ${apiOf(name).stream?.restart ?? ""}`),
    )
    const headers = rows(registries, "Headers of APIs", /^\| `([^`]+)` \| ([^;]*?)(?:;.*)? \|$/gm)
    const header = (name: string, vendor: ApiVendor) =>
      `${name} ${API_NAMES.filter((api) => apiOf(api).vendor === vendor)
        .map((api) => `\`${api}\``)
        .join(", ")}`
    assert.sameMembers(
      [...headers],
      (["openai", "anthropic"] as const).flatMap((vendor) => API_HEADERS[vendor].map((name) => header(name, vendor))),
    )
    const texts = Array.from(section(registries, "Text events").matchAll(/`([a-z_.]+\.delta)`/g), ([, type]) => type)
    assert.deepStrictEqual(texts, [...RESPONSE_TEXTS].map(String))
  })

  it("of the numbered sections list exactly the suites, statement types, forms and events", () => {
    const suites = rows(specification, "Notation", /^\| `(\{"kem".*\})` \|[^|]*\| (\d+) bytes[^|]*\| (\d+) bytes/gm)
    assert.deepStrictEqual(
      suites,
      SUITES.map(({ encBytes, id, publicKeyBytes }) => `${JSON.stringify(id)} ${encBytes} ${publicKeyBytes}`),
    )
    assert.sameMembers(
      [...rows(specification, "1. Identity and statements", /^\| `(sealgate-[a-z]+\+jwt)` \|/gm)],
      Object.values(STATEMENT_TYPES),
    )
    const forms = Object.entries(FORM).map(([name, byte]) => `${byte} ${name}`)
    assert.include(specification, `\`form\` is one byte: ${forms.join(", ")}.`)
    const events = rows(
      specification,
      "5. Two forms of a response, one outside",
      /^\| `(open|frame|proof|[a-z]+)` \| `\{/gm,
    )
    assert.sameMembers([...new Set(events)], [...SealedStreamEvent.fields.event.literals])
  })
})

describe("the claims of every statement", () => {
  const grammar = readFileSync("docs/protocol/sealed.cddl", "utf8")
  const issued = ["iss", "iat", "version"]
  /** Tables of the page that begin with these claims: of an offer, a proof and a receipt. */
  const tables = Array.from(specification.matchAll(/^\| `iss`, `iat`, `version` \|.*\n(?:\|.*\n)*/gm), ([table]) =>
    table.split("\n").flatMap((row) => row.split(" | ")[0]?.match(/(?<=`)\w+(?=`)/g) ?? []),
  )

  it.each([
    ["session", 0],
    ["proof", 1],
    ["receipt", 2],
  ] as const)(
    "are the same on the page, in the grammar and in the kit, which the vectors come from: %s",
    (kind, at) => {
      assert.strictEqual(tables.length, 3)
      const [, members = ""] = new RegExp(`^${kind}-claims = \\{([^}]*)\\}`, "m").exec(grammar) ?? []
      const inGrammar = Array.from(members.matchAll(/(\w+):/g), ([, name = ""]) => name)
      assert.sameMembers(tables[at] ?? [], [...CLAIM_NAMES[kind]])
      assert.sameMembers([...issued, ...inGrammar], [...CLAIM_NAMES[kind]])
    },
  )
})

describe("the rules", () => {
  const ids = Array.from(
    specification.matchAll(/\*\*((?:\[[CPV]\d+\] ?)+)\*\*/g),
    ([, some = ""]) => some.match(/[CPV]\d+/g) ?? [],
  )
    .flat()
    .sort()

  /** Rules about a proxy's output, which the positive vectors show. */
  const MADE = "P6 P9 P10 P31 P32 P33 P35 P36 P37 P38 P39 P40 P41 P42 P43 P50".split(" ")
  /** Rules about time, several processes, header fields or no input at all. */
  const BEHAVIOUR = "C7 C19 C20 P11 P12 P14 P19 P20 P24 P29 P34 P45 P48 P49 P51".split(" ")
  /** Rules about evidence of the hardware, which the vectors have none of. */
  const HARDWARE = "P52 P53 P54 P55".split(" ")

  it("have unique ids without gaps", () => {
    assert.deepStrictEqual(ids, [...new Set(ids)])
    for (const letter of ["C", "P", "V"]) {
      const numbers = ids.filter((id) => id.startsWith(letter)).map((id) => Number(id.slice(1)))
      assert.strictEqual(Math.max(...numbers), numbers.length, letter)
    }
  })

  it("are each broken by a vector, if an input can break them", () => {
    const { answers, evidence, offers, requests } = negatives
    const broken = new Set([...answers, ...evidence, ...offers, ...requests].flatMap(({ rules }) => rules))
    assert.sameMembers([...broken, ...MADE, ...BEHAVIOUR, ...HARDWARE].sort(), ids)
  })

  it("precede every MUST of the normative sections", () => {
    const normative = specification.slice(specification.indexOf("## Notation"))
    for (const paragraph of normative.split(/\n\n|\n(?=- |\| |\d\. )/)) {
      if (
        !/\bMUST\b/.test(paragraph) ||
        /To verify one, a client MUST|the client MUST end|MUST agree; otherwise/.test(paragraph)
      )
        continue
      assert.match(paragraph, /\*\*\[[CPV]\d+\]/, paragraph)
    }
  })

  it("exist if a page refers to them", () => {
    for (const [file, text] of pages) {
      for (const [id] of text.matchAll(/(?<=\[)[CPV]\d+(?=\])/g)) assert.include(ids, id, file)
    }
  })
})
