/** The client reads everything that a proxy may send: the limits of both follow from different files. */
import { assert, describe, it } from "@effect/vitest"
import { MAX_EVENT_LENGTH } from "../../src/client/sealed/serverSentEvents.ts"
import { MAX_BODY_BYTES } from "../../src/client/transport/transport.ts"
import { blockSize, endRecordLength, FLOOR } from "../../src/domain/protocol/padding.ts"
import { TAG_BYTES } from "../../src/domain/protocol/transcript.ts"
import { API_NAMES } from "../../src/domain/upstream/apis.ts"
import { limitOf } from "../../src/services/upstream/providers/http/HttpProvider.ts"
import { LIMITS } from "../../src/services/upstream/providers/shared/Limits.ts"

/** Everything in an answer besides its frames: names, the response nonce, and spaces for an hour. */
const ENVELOPE = 512

/** Characters of a sealed payload in base64url. */
const sealedLength = (payloadBytes: number): number => Math.ceil(((blockSize(payloadBytes, FLOOR) + TAG_BYTES) * 4) / 3)

describe("the largest answer that a proxy passes on", () => {
  it.each(API_NAMES)("is read whole by the client: %s", (api) => {
    const body = sealedLength(limitOf(api, LIMITS).bytes) + sealedLength(endRecordLength(0)) + ENVELOPE
    assert.isAtMost(body, MAX_BODY_BYTES)
  })

  it("is read as one event of a stream, even if a provider's event is as large", () => {
    assert.isAtMost(sealedLength(3 * LIMITS.eventChars) + ENVELOPE, MAX_EVENT_LENGTH)
  })

  it("is read as one event of a stream, if its provider does not stream", () => {
    assert.isAtMost(sealedLength(limitOf("chat.completions", LIMITS).bytes) + ENVELOPE, MAX_EVENT_LENGTH)
  })
})
