/** Checks of sealed requests that cannot be opened. */
import { type Bytes, concat, encodeBase64Url, u32, utf8 } from "../../../domain/bytes/bytes.ts"
import { FLOOR, pad } from "../../../domain/protocol/padding.ts"
import { joinContent, MAX_CREDENTIAL_BYTES } from "../../../domain/protocol/sealedContent.ts"
import { SUITES } from "../../../domain/protocol/suites.ts"
import { randomBytes } from "../../../client/crypto/primitives.ts"
import type { ClientSession } from "../../../client/sealed/session.ts"
import { type Check, check } from "../Check.ts"
import { each, refusedAs } from "../expect.ts"
import { type Probe, UNSERVED } from "../Probe.ts"
import { bytesIn, sealed, sentWith } from "./sending.ts"

/** X25519 points of small order, and non-canonical encodings (RFC 7748 §5, §6.1). */
const WEAK = [
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  `ec${"ff".repeat(30)}7f`,
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
  `f6${"ff".repeat(30)}7f`,
].map((hex) => new Uint8Array(Buffer.from(hex, "hex")))

type Blocks = (content: Bytes, payload: Bytes) => Bytes

const changedEnd = (block: Bytes): Bytes => block.map((byte, index) => (index === block.length - 1 ? byte ^ 1 : byte))

const BLOCKS: ReadonlyArray<readonly [what: string, make: Blocks]> = [
  ["a length beyond the block", (content) => concat(u32(65_536), pad(content, FLOOR).subarray(4))],
  ["padding that is not zero", (content) => changedEnd(pad(content, FLOOR))],
  ["a block of another size than padding gives", (content) => concat(pad(content, FLOOR), new Uint8Array(1))],
  ["a block of the next size", (content) => concat(u32(content.length), pad(content, FLOOR * 2).subarray(4))],
  ["a block without padding", (content) => concat(u32(content.length), content)],
  ["an empty block", () => new Uint8Array()],
]

const CONTENTS: ReadonlyArray<readonly [what: string, make: (payload: Bytes) => Bytes]> = [
  ["a credential that goes beyond the content", (payload) => concat(u32(payload.length + 1), payload)],
  ["a credential longer than it may be", (payload) => joinContent("x".repeat(MAX_CREDENTIAL_BYTES + 1), payload)],
  ["a credential that is not UTF-8", (payload) => concat(u32(1), new Uint8Array([0xff]), payload)],
  ["no credential's length", () => new Uint8Array(3)],
]

const inBlock = async (probe: Probe, make: (payload: Bytes) => Bytes) => {
  const session = await probe.session()
  const payload = utf8(JSON.stringify(probe.payload(session, UNSERVED)))
  return probe.post((await probe.seal(session, { payload, block: make(payload) })).body)
}

const otherKey = async (probe: Probe, session: ClientSession) =>
  (await probe.begin([session.suite.name])).session.publicKey

export const openingChecks: ReadonlyArray<Check> = [
  ...SUITES.map(({ name }) =>
    check(
      "P44",
      `unopenable-${name.toLowerCase()}`,
      `a request not sealed to the session with ${name}, or changed, cannot be opened`,
      async (probe) => {
        const { sealed: request, session } = await sealed(probe, name)
        const payload = probe.payload(session, UNSERVED)
        const wrongs = [
          { publicKey: await otherKey(probe, session) },
          { info: randomBytes(32) },
          { aad: randomBytes(32) },
        ]
        const wrong = await each(wrongs, async (wrong) =>
          refusedAs(
            await probe.post((await probe.seal(session, { payload, wrong })).body),
            `another ${Object.keys(wrong).join()}`,
            "400 unopenable",
          ),
        )
        const { ciphertext } = request.sent.body
        const bytes = bytesIn(ciphertext)
        const changes = [
          bytes.subarray(1),
          bytes.map((byte, i) => (i === 9 ? byte ^ 1 : byte)),
          changedEnd(bytes),
          new Uint8Array(),
        ]
        return `${wrong}, ${await each(changes, async (changed) =>
          refusedAs(
            await sentWith(probe, request, { ciphertext: encodeBase64Url(changed) }),
            "a changed ciphertext",
            "400 unopenable",
            "400 malformed",
          ),
        )}`
      },
    ),
  ),
  ...SUITES.map(({ name }) =>
    check(
      "P5",
      `weak-enc-${name.toLowerCase()}`,
      `an enc of ${name} whose X25519 part is of small order or not canonical cannot be opened`,
      async (probe) => {
        const { sealed: request } = await sealed(probe, name)
        const { enc } = request.sent
        const weak = WEAK.map((point) => concat(enc.subarray(0, -point.length), point))
        return each(weak, async (enc) =>
          refusedAs(await sentWith(probe, request, { enc: encodeBase64Url(enc) }), "a weak enc", "400 unopenable"),
        )
      },
    ),
  ),
  ...SUITES.map(({ name }) =>
    check(
      "P5",
      `spelled-enc-${name.toLowerCase()}`,
      `an enc of ${name} in another spelling cannot be opened, though X25519 would`,
      async (probe) => {
        const session = await probe.session(name)
        const body = await probe.spelled(session, { payload: probe.payload(session, UNSERVED) })
        return refusedAs(await probe.post(body), "an enc whose top bit is set", "400 unopenable")
      },
    ),
  ),
  check("P15", "request-block", "a block that padding cannot produce cannot be opened", (probe) =>
    each(BLOCKS, async ([what, make]) =>
      refusedAs(
        await inBlock(probe, (payload) => make(joinContent(probe.credential, payload), payload)),
        what,
        "400 unopenable",
      ),
    ),
  ),
  check("P13", "request-credential", "a malformed credential cannot be opened", (probe) =>
    each(CONTENTS, async ([what, make]) =>
      refusedAs(await inBlock(probe, (payload) => pad(make(payload), FLOOR)), what, "400 unopenable"),
    ),
  ),
  check(
    "P17",
    "request-not-used-up",
    "a request that could not be opened when changed is served unchanged",
    async (probe) => {
      const { sealed: request } = await sealed(probe)
      const bytes = bytesIn(request.sent.body.ciphertext)
      refusedAs(
        await sentWith(probe, request, { ciphertext: encodeBase64Url(changedEnd(bytes)) }),
        "a changed ciphertext",
        "400 unopenable",
      )
      await probe.open(await probe.post(request.body), request)
      return "after a copy that could not be opened, the request was"
    },
  ),
]
