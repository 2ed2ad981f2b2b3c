/** Checks that no request is served twice. */
import { randomUUID } from "node:crypto"
import { encodeBase64Url } from "../../../domain/bytes/bytes.ts"
import { type Check, check } from "../Check.ts"
import { must, skip } from "../outcome.ts"
import { each, failedAs, refusedAs } from "../expect.ts"
import type { ClientSession } from "../../../client/sealed/session.ts"
import { type Probe, UNSERVED } from "../Probe.ts"

const COPIES = 8
/** The longest session that the kit uses up, in requests. */
const FEW = 300

const sealedOnce = async (probe: Probe) => {
  const session = await probe.session()
  return probe.seal(session, { payload: probe.payload(session, UNSERVED) })
}

interface UsedUp {
  readonly session: ClientSession
  readonly served: number
  readonly first: string
}

const useUp = async (probe: Probe): Promise<UsedUp> => {
  const { session } = await probe.begin()
  const { requestsLeft: served } = session
  if (served > FEW) skip(`a session serves ${served} requests, which are too many to use up`)
  let first = ""
  for (let count = 1; count <= served; count++) {
    const { body } = await probe.seal(session, { payload: probe.payload(session, UNSERVED) })
    const { status } = await probe.post(body)
    must(status === 200, `request ${count} of ${served} is answered with ${status}`)
    first ||= body
  }
  return { session, served, first }
}

/** Shared by all checks of a run. */
const done = new WeakMap<Probe, Promise<UsedUp>>()
const usedUp = (probe: Probe): Promise<UsedUp> => {
  const made = done.get(probe) ?? useUp(probe)
  done.set(probe, made)
  return made
}

export const claimChecks: ReadonlyArray<Check> = [
  check("P17", "replay-later", "the very same bytes, sent again, are refused", async (probe) => {
    const sealed = await sealedOnce(probe)
    await probe.open(await probe.post(sealed.body), sealed)
    return each([1, 2], async () => refusedAs(await probe.post(sealed.body), "a copy", "409 replayed"))
  }),
  check("P17", "replay-at-once", `of ${COPIES} copies that arrive together one is served`, async (probe) => {
    const sealed = await sealedOnce(probe)
    const received = await Promise.all(Array.from({ length: COPIES }, () => probe.post(sealed.body)))
    const served = received.filter(({ status }) => status === 200)
    must(served.length === 1, `${served.length} of ${COPIES} copies were served`)
    for (const copy of received) if (copy.status !== 200) refusedAs(copy, "a copy", "409 replayed")
    return `one was served, ${COPIES - 1} were replayed`
  }),
  check("P17", "replay-of-enc", "another ciphertext under an enc that was claimed is refused", async (probe) => {
    const sealed = await sealedOnce(probe)
    await probe.open(await probe.post(sealed.body), sealed)
    const changed = sealed.sent.body.ciphertext.replace(/^./, (first) => (first === "A" ? "B" : "A"))
    return refusedAs(
      await probe.post(JSON.stringify({ ...sealed.sent.body, ciphertext: changed })),
      "the same enc",
      "409 replayed",
    )
  }),
  check(
    "P21",
    "request-id-again",
    "a second request under one request_id is not served, in whichever session",
    async (probe) => {
      const [one, two] = [await probe.session(), (await probe.begin()).session]
      const request_id = randomUUID()
      await probe.ask({ payload: probe.payload(one, { ...UNSERVED, request_id }) }, one)
      return each([one, two], async (session) =>
        failedAs(
          await probe.ask({ payload: probe.payload(session, { ...UNSERVED, request_id }) }, session),
          "the same request_id",
          "replayed",
        ),
      )
    },
  ),
  check("P21", "request-id-per-credential", "a request_id is claimed for its credential alone", async (probe) => {
    if (probe.credential !== "") return skip("the server asks for a credential, and the kit has one")
    const session = await probe.session()
    const request_id = randomUUID()
    return each(["Bearer one", "Bearer two"], async (credential) =>
      failedAs(
        await probe.ask({ payload: probe.payload(session, { ...UNSERVED, request_id }), credential }, session),
        "the request_id of another credential",
        "unsupported-api",
      ),
    )
  }),
  check("P18", "request-id-after-stale", "a stale request claims no request_id", async (probe) => {
    const request_id = randomUUID()
    const stale = failedAs(await probe.asking({ ...UNSERVED, request_id, issued_at: 1 }), "such a request", "stale")
    return `${stale}, then ${failedAs(await probe.asking({ ...UNSERVED, request_id }), "its request_id", "unsupported-api")}`
  }),
  check("P11", "session-used-up", "a session serves max_requests requests and no more", async (probe) => {
    const { served, session } = await usedUp(probe)
    const { body } = await probe.seal(session, { payload: probe.payload(session, UNSERVED) })
    return `${served} were served, then ${refusedAs(await probe.post(body), "one request more", "410 session-gone")}`
  }),
  check("P19", "claim-kept", "a copy is still recognized when its session is used up", async (probe) =>
    refusedAs(await probe.post((await usedUp(probe)).first), "a copy", "409 replayed"),
  ),
  check("P11", "session-expired", "a session ends at expires_at", async (probe) => {
    const { session } = await probe.begin()
    const left = session.expiresAt - Date.now() - session.clockOffset
    if (left > WAITING_MS)
      return skip(`that would be in ${Math.round(left / 1000)} s; a server with sessions of a few seconds shows it`)
    const { body, sent } = await probe.seal(session, { payload: probe.payload(session, UNSERVED) })
    await new Promise((resolve) => setTimeout(resolve, left + 1000))
    const gone = refusedAs(await probe.post(body), "a request after its end", "410 session-gone")
    return `${gone}, for the session ${encodeBase64Url(sent.session.idBytes)}`
  }),
]

const WAITING_MS = 10_000
