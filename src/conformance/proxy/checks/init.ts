/** Checks of `POST /v1/init` and `GET /v1/keys`. */
import { encodeBase64Url, utf8 } from "../../../domain/bytes/bytes.ts"
import { isObject } from "../../../domain/json/json.ts"
import { parseIJson } from "../../../domain/json/iJson.ts"
import { SUITES, suiteWith, type SuiteId } from "../../../domain/protocol/suites.ts"
import { SESSION_ID_BYTES } from "../../../domain/protocol/transcript.ts"
import { randomBytes } from "../../../client/crypto/primitives.ts"
import { sessionRequest } from "../../../client/sealed/session.ts"
import { keysByThumbprint, verifyStatement } from "../../../client/verification/trust.ts"
import { believing } from "../OpenedAnswer.ts"
import { CLAIM_NAMES } from "../../lyingProxy/claimNames.ts"
import { type Check, check } from "../Check.ts"
import { must, skip } from "../outcome.ts"
import { each, refusedAs } from "../expect.ts"
import type { Probe } from "../Probe.ts"
import { BAD_JSON } from "./badJson.ts"

const nonce = (bytes = 16): string => encodeBase64Url(randomBytes(bytes))
const IDS: ReadonlyArray<SuiteId> = SUITES.map(({ id }) => id)
/** With this many ids, a random bit is equal in all of them once in 2^31 runs. */
const SAMPLES = 32
const RANDOM_BYTES = 13
const NO_SUITE: SuiteId = { kem: 65_535, kdf: 65_535, aead: 65_535 }

const bodyWith = (members: object): string => JSON.stringify({ client_nonce: nonce(), suites: IDS, ...members })

const malformed = (
  probe: Probe,
  bodies: ReadonlyArray<readonly [what: string, body: string | Uint8Array]>,
): Promise<string> => each(bodies, async ([what, body]) => refusedAs(await probe.init(body), what, "400 malformed"))

const offered = (probe: Probe, body: string) => probe.verify({ body, suites: SUITES })

export const initChecks: ReadonlyArray<Check> = [
  check("P6", "keys-pinned", "GET /v1/keys shows the pinned key", async (probe) => {
    must((await probe.trusted()).size > 0, "no key that it shows has a thumbprint that is pinned")
    return "the key is there, under its own thumbprint"
  }),
  check("P6", "keys-kid", "every key of GET /v1/keys has its own thumbprint as its kid", async (probe) => {
    const set = parseIJson((await probe.wire.send("v1/keys", {})).body)
    must(isObject(set) && Array.isArray(set["keys"]), "it shows no set of keys")
    const named = new Set(set["keys"].filter(isObject).map(({ kid }) => kid))
    const thumbprints = new Set((await believing(keysByThumbprint(set))).keys())
    must(thumbprints.size > 0, "it shows no Ed25519 key")
    for (const kid of thumbprints) must(named.has(kid), `the key ${kid} is shown under another kid, or none`)
    return `${thumbprints.size} keys`
  }),
  ...SUITES.map(({ id, name }) =>
    check(
      "P8",
      `init-${name.toLowerCase()}`,
      `a session with the suite ${name} is offered correctly`,
      async (probe) => {
        const { session } = await probe.begin([name])
        return `an offer whose key has ${session.publicKey.length} bytes, for the suite ${JSON.stringify(id)}`
      },
    ),
  ),
  check("P8", "init-first-suite", "the first suite that the server has is taken", async (probe) => {
    const available = await Promise.all(
      SUITES.map(({ name }) =>
        probe.begin([name]).then(
          () => true,
          () => false,
        ),
      ),
    )
    if (!available.every(Boolean)) skip("the server has one suite alone")
    return each([IDS, IDS.toReversed(), [NO_SUITE, ...IDS.toReversed()]], async (suites) => {
      const { session } = await offered(probe, bodyWith({ suites }))
      const first = suites.flatMap((id) => suiteWith(id) ?? [])[0]
      must(session.suite === first, `of ${JSON.stringify(suites)} it takes ${session.suite.name}`)
      return "the first one that it has"
    })
  }),
  check("P8", "init-no-common-suite", "a list without a known suite is refused", async (probe) =>
    refusedAs(await probe.init(bodyWith({ suites: [NO_SUITE] })), "a list of one unknown suite", "400 no-common-suite"),
  ),
  check(
    "P10",
    "init-hash-as-received",
    "init_hash covers the body as it was received, unknown members included",
    async (probe) => {
      const bodies = [` \n${bodyWith({ extension: [1.5, { of: null }] })} `, bodyWith({ client_nonce: nonce(64) })]
      return each(bodies, async (body) => {
        await offered(probe, body)
        return "the hash of the very bytes"
      })
    },
  ),
  check("P7", "init-nonce", "a client_nonce that is not base64url of 16 to 64 bytes is refused", (probe) =>
    malformed(probe, [
      ["a nonce of 15 bytes", bodyWith({ client_nonce: nonce(15) })],
      ["a nonce of 65 bytes", bodyWith({ client_nonce: nonce(65) })],
      ["a nonce with padding", bodyWith({ client_nonce: `${nonce()}==` })],
      ["a nonce with unused bits", bodyWith({ client_nonce: `${"A".repeat(21)}B` })],
      ["a nonce of another alphabet", bodyWith({ client_nonce: `${"A".repeat(21)}+` })],
      ["a nonce that is a number", bodyWith({ client_nonce: 16 })],
      ["no nonce", JSON.stringify({ suites: IDS })],
    ]),
  ),
  check("P7", "init-suites", "a list that is not 1 to 8 different suites is refused", (probe) =>
    malformed(probe, [
      ["no list of suites", JSON.stringify({ client_nonce: nonce() })],
      ["an empty list of suites", bodyWith({ suites: [] })],
      [
        "a list of nine suites",
        bodyWith({ suites: Array.from({ length: 9 }, (_, kem) => ({ kem, kdf: 1, aead: 2 })) }),
      ],
      ["a suite twice", bodyWith({ suites: [IDS[0], IDS[0]] })],
      ["a number beyond 65535", bodyWith({ suites: [{ kem: 65_536, kdf: 1, aead: 2 }] })],
      ["a number below 0", bodyWith({ suites: [{ kem: -1, kdf: 1, aead: 2 }] })],
      ["a number that is no integer", bodyWith({ suites: [{ kem: 32.5, kdf: 1, aead: 2 }] })],
      ["a suite without its aead", bodyWith({ suites: [{ kem: 32, kdf: 1 }] })],
      ["a suite that is a text", bodyWith({ suites: ["X25519"] })],
    ]),
  ),
  check("P2", "init-i-json", "a body that is not I-JSON, or no object, is refused", (probe) =>
    malformed(probe, [
      ...BAD_JSON.map(([what, spoil]) => [what, spoil(bodyWith({}))] as const),
      ["an array", "[]"],
      ["nothing", ""],
    ]),
  ),
  check("P4", "init-json-limits", "a body of more than 64 levels is refused", (probe) =>
    malformed(probe, [
      ["a body of 70 levels", `${bodyWith({}).slice(0, -1)},"deep":${"[".repeat(70)}${"]".repeat(70)}}`],
    ]),
  ),
  check("P7", "init-media-type", "a body that is not application/json is refused", (probe) =>
    each(["text/plain", "application/x-www-form-urlencoded"], async (type) =>
      refusedAs(
        await probe.init(bodyWith({}), { "content-type": type }),
        `a body as ${type}`,
        "415 unsupported-media-type",
      ),
    ),
  ),
  check(
    "P9",
    "init-answer",
    "the answer has status 200, may not be stored, and is the statement with its key",
    async (probe) => {
      const { body, headers, status } = await probe.init(sessionRequest().body)
      must(status === 200, `the status is ${status}`)
      must(
        /\bno-store\b/.test(headers["cache-control"] ?? ""),
        `cache-control is ${headers["cache-control"] ?? "missing"}`,
      )
      const answer = parseIJson(body)
      must(isObject(answer), "the answer is no object")
      must(
        Object.keys(answer).sort().join() === "attestation,keys",
        `the answer has the members ${Object.keys(answer).join(", ")}`,
      )
      return "200, no-store, an attestation, its key and nothing else"
    },
  ),
  check("P10", "init-claims", "the offer has every claim, with values that make sense", async (probe) => {
    const { attestation, session } = await probe.begin()
    const claims = await believing(verifyStatement("session", attestation, await probe.trusted()))
    const missing = CLAIM_NAMES.session.filter((name) => claims[name] === undefined)
    must(missing.length === 0, `it lacks ${missing.join(", ")}`)
    must(session.idBytes.length === SESSION_ID_BYTES, `session_id has ${session.idBytes.length} bytes`)
    must(session.requestsLeft > 0 && session.maxRequestBytes >= 1040, "it allows no request")
    return `${session.requestsLeft} requests of up to ${session.maxRequestBytes} bytes until ${new Date(session.expiresAt).toISOString()}`
  }),
  check("P10", "init-fresh", "every session has an id and a key of its own, also for the same body", async (probe) => {
    const body = sessionRequest().body
    const [one, two] = [await offered(probe, body), await offered(probe, body)]
    must(one.session.id !== two.session.id, "two sessions have one id")
    const keys = [one, two].map(({ session }) => encodeBase64Url(session.publicKey))
    must(keys[0] !== keys[1], "two sessions have one key")
    const same = utf8(one.session.id).filter((byte, index) => byte === utf8(two.session.id)[index]).length
    return `two ids, which share ${same} of their 22 characters, and two keys`
  }),
  check("P10", "init-random", "at least 13 of the 16 bytes of a session_id are random", async (probe) => {
    const ids = (await Promise.all(Array.from({ length: SAMPLES }, () => probe.begin()))).map(
      ({ session }) => session.idBytes,
    )
    const bits = Array.from(
      { length: SESSION_ID_BYTES },
      (_, place) =>
        Array.from({ length: 8 }, (_, bit) => new Set(ids.map((id) => ((id[place] ?? 0) >> bit) & 1)).size).filter(
          (values) => values === 2,
        ).length,
    )
    const random = bits.filter((count) => count === 8).length
    must(random >= RANDOM_BYTES, `in ${SAMPLES} ids only ${random} bytes change in all of their bits`)
    return `${random} bytes change in all of their bits`
  }),
  check("P10", "init-clock", "iat is the server's clock at that moment, in whole seconds", async (probe) => {
    const [one, two] = [await probe.begin(), await probe.begin()]
    const drift = Math.abs(one.session.clockOffset - two.session.clockOffset)
    must(drift < 5000, `two offers differ by ${Math.round(drift)} ms more than the time between them`)
    return `its clock is ${Math.round(one.session.clockOffset / 1000)} s from this one's`
  }),
]
