/** Sends a sealed request, optionally changed. */
import { type Bytes, decodeBase64Url } from "../../../domain/bytes/bytes.ts"
import type { SuiteName } from "../../../domain/protocol/suites.ts"
import { type Probe, type Sealed, UNSERVED } from "../Probe.ts"

/** A request that calls no provider. */
export const sealed = async (probe: Probe, suite?: SuiteName) => {
  const session = await probe.session(suite)
  return { session, sealed: await probe.seal(session, { payload: probe.payload(session, UNSERVED) }) }
}

export const sentWith = (probe: Probe, { sent }: Sealed, change: object) =>
  probe.post(JSON.stringify({ ...sent.body, ...change }))

export const bytesIn = (text: string): Bytes => decodeBase64Url(text) ?? new Uint8Array()
